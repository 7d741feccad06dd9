package export_tidegate_plugin_tools

import (
	"strconv"
	"strings"
	"time"
)

// The most days that an event lasts, so that durations stay inside of what a time can hold.
const maxDurationDays = 3660

// moment is a time of the file: a day alone, or with a time of day.
type moment struct {
	at    time.Time
	isDay bool
}

// event is one VEVENT, as far as it matters here.
type event struct {
	start, end *moment
	duration   *duration
	rule       string
	excluded   map[int64]bool // in seconds since 1970
	isHidden   bool
}

// duration is as in RFC 5545 3.3.6: days follow the calendar, the rest the clock.
type duration struct {
	days  int
	clock time.Duration
}

// The most dates that one event leaves out.
const maxExcluded = 10_000

// eventReader takes the lines of a file and adds each event when it ends.
type eventReader struct {
	zone        *time.Location
	busy        *spans
	isOpen      bool
	isClosed    bool
	inner       []string
	event       *event
	occurrences int
}

// take reads one unfolded line.
func (r *eventReader) take(line string) error {
	if line == "" {
		return nil
	}
	name, parameters, value, ok := property(strings.TrimPrefix(line, "\ufeff"))
	if !ok {
		return malformed
	}
	switch {
	case name == "BEGIN":
		return r.begin(strings.ToUpper(value))
	case !r.isOpen:
		return malformed
	case name == "END":
		return r.close(strings.ToUpper(value))
	case r.event != nil && len(r.inner) == 2:
		return r.event.take(name, parameters, value, r.zone)
	}
	return nil
}

// The deepest nesting of components; alarms in events in calendars are three.
const maxNesting = 8

func (r *eventReader) begin(component string) error {
	if len(r.inner) == maxNesting || (!r.isOpen && component != "VCALENDAR") {
		return malformed
	}
	r.isOpen = true
	r.inner = append(r.inner, component)
	if len(r.inner) == 2 && component == "VEVENT" {
		r.event = &event{}
	}
	return nil
}

func (r *eventReader) close(component string) error {
	last := len(r.inner) - 1
	if last < 0 || r.inner[last] != component {
		return malformed
	}
	r.inner = r.inner[:last]
	r.isClosed = r.isClosed || last == 0
	if last != 1 || r.event == nil {
		return nil
	}
	event := r.event
	r.event = nil
	return event.addTo(r.busy, &r.occurrences)
}

// end says whether what was read was a calendar.
func (r *eventReader) end() error {
	if !r.isClosed || len(r.inner) > 0 {
		return malformed
	}
	return nil
}

// property splits a line into name, parameters and value. Colons in quotes separate nothing.
func property(line string) (name string, parameters map[string]string, value string, ok bool) {
	var pieces []string
	start, quoted := 0, false
	for at := 0; at < len(line); at++ {
		switch {
		case line[at] == '"':
			quoted = !quoted
		case quoted:
		case line[at] == ';' || line[at] == ':':
			pieces = append(pieces, line[start:at])
			start = at + 1
		}
		if !quoted && line[at] == ':' {
			value, ok = line[at+1:], true
			break
		}
	}
	if !ok || pieces[0] == "" {
		return "", nil, "", false
	}
	parameters = map[string]string{}
	for _, piece := range pieces[1:] {
		key, text, _ := strings.Cut(piece, "=")
		parameters[strings.ToUpper(key)] = strings.Trim(text, `"`)
	}
	return strings.ToUpper(pieces[0]), parameters, value, true
}

func (e *event) take(name string, parameters map[string]string, value string, zone *time.Location) (err error) {
	switch name {
	case "DTSTART":
		e.start, err = readMoment(parameters, value, zone)
	case "DTEND":
		e.end, err = readMoment(parameters, value, zone)
	case "DURATION":
		e.duration, err = readDuration(value)
	case "RRULE":
		if e.rule != "" {
			return otherRule
		}
		e.rule = value
	case "EXDATE":
		for _, one := range strings.Split(value, ",") {
			excluded, err := readMoment(parameters, one, zone)
			if err != nil {
				return err
			}
			if len(e.excluded) == maxExcluded {
				return tooMany
			}
			if e.excluded == nil {
				e.excluded = map[int64]bool{}
			}
			e.excluded[excluded.at.Unix()] = true
		}
	case "RDATE", "RECURRENCE-ID", "EXRULE":
		return otherDates
	case "TRANSP":
		e.isHidden = e.isHidden || strings.EqualFold(value, "TRANSPARENT")
	case "STATUS":
		e.isHidden = e.isHidden || strings.EqualFold(value, "CANCELLED")
	}
	return err
}

// readMoment reads DATE and DATE-TIME (RFC 5545 3.3.4 and 3.3.5).
func readMoment(parameters map[string]string, value string, zone *time.Location) (*moment, error) {
	if name := parameters["TZID"]; name != "" {
		if zone = zoneOf(strings.TrimPrefix(name, "/")); zone == nil {
			return nil, otherZone
		}
	}
	if len(value) == len("20060102") {
		at, err := time.ParseInLocation("20060102", value, zone)
		if err != nil {
			return nil, badEvent
		}
		return &moment{at: at, isDay: true}, nil
	}
	if text, isUTC := strings.CutSuffix(value, "Z"); isUTC {
		value, zone = text, time.UTC
	}
	at, err := time.ParseInLocation("20060102T150405", value, zone)
	if err != nil {
		return nil, badEvent
	}
	return &moment{at: at}, nil
}

// readDuration reads DURATION; one that goes backwards is none here.
func readDuration(value string) (*duration, error) {
	text, ok := strings.CutPrefix(strings.TrimPrefix(value, "+"), "P")
	if !ok || text == "" {
		return nil, badEvent
	}
	var read duration
	inTime := false
	for text != "" {
		if !inTime && text[0] == 'T' {
			inTime, text = true, text[1:]
			continue
		}
		end := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
		if end < 1 || end > 9 {
			return nil, badEvent
		}
		count, err := strconv.Atoi(text[:end])
		if err != nil || !read.add(count, text[end], inTime) {
			return nil, badEvent
		}
		text = text[end+1:]
	}
	if read.days > maxDurationDays || read.clock > maxDurationDays*24*time.Hour {
		return nil, badEvent
	}
	return &read, nil
}

func (d *duration) add(count int, unit byte, inTime bool) bool {
	switch {
	case unit == 'W' && !inTime:
		d.days += 7 * count
	case unit == 'D' && !inTime:
		d.days += count
	case unit == 'H' && inTime:
		d.clock += time.Duration(count) * time.Hour
	case unit == 'M' && inTime:
		d.clock += time.Duration(count) * time.Minute
	case unit == 'S' && inTime:
		d.clock += time.Duration(count) * time.Second
	default:
		return false
	}
	return true
}

// addTo adds every occurrence of the event.
func (e *event) addTo(busy *spans, occurrences *int) error {
	if e.start == nil {
		return badEvent
	}
	if e.isHidden {
		return nil
	}
	lasts, err := e.lasts()
	if err != nil {
		return err
	}
	each := func(start time.Time) (bool, error) {
		*occurrences++
		if *occurrences > maxOccurrences {
			return false, tooMany
		}
		if !start.Before(busy.window.end) {
			return false, nil
		}
		if !e.excluded[start.Unix()] {
			busy.add(span{start, lasts(start)})
		}
		return true, nil
	}
	if e.rule == "" {
		_, err := each(e.start.at)
		return err
	}
	rule, err := readRule(e.rule, e.start.at.Location())
	if err != nil {
		return err
	}
	return rule.each(e.start.at, each)
}

// lasts gives the function from an occurrence's start to its end.
func (e *event) lasts() (func(time.Time) time.Time, error) {
	switch {
	case e.end != nil && e.duration != nil, e.end != nil && e.end.isDay != e.start.isDay:
		return nil, badEvent
	case e.duration != nil:
		return func(start time.Time) time.Time {
			return start.AddDate(0, 0, e.duration.days).Add(e.duration.clock)
		}, nil
	case e.end != nil && e.start.isDay:
		days := int(e.end.at.Sub(e.start.at).Hours()+12) / 24
		if days < 1 || days > maxDurationDays {
			return nil, badEvent
		}
		return func(start time.Time) time.Time { return start.AddDate(0, 0, days) }, nil
	case e.end != nil:
		length := e.end.at.Sub(e.start.at)
		if length < 0 || length > maxDurationDays*24*time.Hour {
			return nil, badEvent
		}
		return func(start time.Time) time.Time { return start.Add(length) }, nil
	case e.start.isDay:
		return func(start time.Time) time.Time { return start.AddDate(0, 0, 1) }, nil
	}
	// A moment without an end keeps nobody busy.
	return func(start time.Time) time.Time { return start }, nil
}
