//! `strftime_now` with the semantics of Python's `datetime.strftime` for a time without a zone.

/// Broken-down local time; the fields are those of C's `struct tm`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LocalTime {
    pub second: i32,
    pub minute: i32,
    pub hour: i32,
    pub day: i32,
    /// 0 is January.
    pub month: i32,
    /// Years since 1900.
    pub year: i32,
    /// 0 is Sunday.
    pub week_day: i32,
    pub year_day: i32,
}

/// A format is short text written by a template's author; so is what it makes.
const MAX_FORMAT_BYTES: usize = 4096;
const MAX_RESULT_BYTES: usize = 16384;

pub fn format_time(time: &LocalTime, format: &str) -> Result<String, String> {
    if format.len() > MAX_FORMAT_BYTES {
        return Err(format!(
            "strftime_now: format of {} bytes, at most {MAX_FORMAT_BYTES} are allowed",
            format.len()
        ));
    }
    if format.contains('\0') {
        return Err("strftime_now: format contains a NUL character".into());
    }
    // A trailing character, so that an empty result can be told from one that did not fit.
    let mut c_format = without_zone_directives(format);
    c_format.push_str("|\0");

    let mut parts: libc::tm = unsafe { std::mem::zeroed() };
    parts.tm_sec = time.second;
    parts.tm_min = time.minute;
    parts.tm_hour = time.hour;
    parts.tm_mday = time.day;
    parts.tm_mon = time.month;
    parts.tm_year = time.year;
    parts.tm_wday = time.week_day;
    parts.tm_yday = time.year_day;
    parts.tm_isdst = -1;

    let mut buffer = vec![0u8; MAX_RESULT_BYTES];
    // SAFETY: the format ends in NUL, the buffer has the size that is told, tm is filled.
    let size = unsafe {
        libc::strftime(
            buffer.as_mut_ptr().cast(),
            buffer.len(),
            c_format.as_ptr().cast(),
            &parts,
        )
    };
    if size == 0 {
        return Err(format!(
            "strftime_now: the result passes {MAX_RESULT_BYTES} bytes"
        ));
    }
    buffer.truncate(size - 1);
    String::from_utf8(buffer).map_err(|_| "strftime_now: the result is not UTF-8".into())
}

/// Python fills in %f (microseconds), %z and %Z itself; our time has whole seconds and no zone.
fn without_zone_directives(format: &str) -> String {
    let mut out = String::with_capacity(format.len());
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('f') => out.push_str("000000"),
            Some('z') | Some('Z') => {}
            Some(other) => {
                out.push('%');
                out.push(other);
            }
            None => out.push_str("%%"),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: LocalTime = LocalTime {
        second: 53,
        minute: 26,
        hour: 9,
        day: 4,
        month: 2,
        year: 126,
        week_day: 3,
        year_day: 62,
    };

    #[test]
    fn formats_like_python() {
        assert_eq!(
            format_time(&TIME, "%Y-%m-%d %H:%M:%S").unwrap(),
            "2026-03-04 09:26:53"
        );
        assert_eq!(
            format_time(&TIME, "%d %b %Y, %A %-d").unwrap(),
            "04 Mar 2026, Wednesday 4"
        );
        assert_eq!(format_time(&TIME, "%f%z%Z").unwrap(), "000000");
        assert_eq!(format_time(&TIME, "").unwrap(), "");
        assert_eq!(format_time(&TIME, "100%").unwrap(), "100%");
        assert_eq!(format_time(&TIME, "%%z é").unwrap(), "%z é");
    }

    #[test]
    fn refuses_what_is_too_long() {
        assert!(format_time(&TIME, "%99999999Y").is_err());
        assert!(format_time(&TIME, &"x".repeat(MAX_FORMAT_BYTES + 1)).is_err());
        assert!(format_time(&TIME, "a\0b").is_err());
    }
}
