package export_tidegate_plugin_tools

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// rule is an RRULE (RFC 5545 3.3.10) of those that are understood.
type rule struct {
	isWeekly bool
	interval int
	count    int       // 0 for none
	until    time.Time // zero for none
	days     []int     // of a week that starts on Monday; empty for that of the first occurrence
}

// Larger intervals and counts are not taken for a mistake, but never needed.
const maxRuleNumber = 10_000

var weekdays = []string{"MO", "TU", "WE", "TH", "FR", "SA", "SU"}

// readRule reads a rule; one that is well-formed and not understood is otherRule.
func readRule(value string, zone *time.Location) (*rule, error) {
	read := rule{interval: 1}
	seen := map[string]bool{}
	for _, part := range strings.Split(value, ";") {
		key, text, ok := strings.Cut(part, "=")
		key, text = strings.ToUpper(key), strings.ToUpper(text)
		if !ok || text == "" || seen[key] {
			return nil, badRule
		}
		seen[key] = true
		if err := read.take(key, text, zone); err != nil {
			return nil, err
		}
	}
	switch {
	case !seen["FREQ"], seen["COUNT"] && seen["UNTIL"]:
		return nil, badRule
	case seen["BYDAY"] && !read.isWeekly:
		return nil, otherRule
	}
	slices.Sort(read.days)
	read.days = slices.Compact(read.days)
	return &read, nil
}

func (r *rule) take(key, text string, zone *time.Location) error {
	switch key {
	case "FREQ":
		r.isWeekly = text == "WEEKLY"
		if !r.isWeekly && text != "DAILY" {
			return otherRule
		}
	case "INTERVAL":
		return readNumber(text, &r.interval)
	case "COUNT":
		return readNumber(text, &r.count)
	case "UNTIL":
		until, err := readMoment(nil, text, zone)
		if err != nil {
			return badRule
		}
		r.until = until.at
		if until.isDay {
			// The whole day counts.
			r.until = until.at.AddDate(0, 0, 1).Add(-time.Nanosecond)
		}
	case "BYDAY":
		for _, name := range strings.Split(text, ",") {
			day := slices.Index(weekdays, name)
			if day < 0 {
				return otherRule
			}
			r.days = append(r.days, day)
		}
	case "WKST":
		// It only moves days between weeks that are left out.
		if text != "MO" {
			return otherRule
		}
	default:
		return otherRule
	}
	return nil
}

func readNumber(text string, number *int) error {
	read, err := strconv.Atoi(text)
	if err != nil || read < 1 {
		return badRule
	}
	if read > maxRuleNumber {
		return otherRule
	}
	*number = read
	return nil
}

// each calls `visit` with each start in order until it says that this is enough. Days are counted by
// the calendar of the start's zone, so that a meeting at nine stays at nine when clocks change.
func (r *rule) each(start time.Time, visit func(time.Time) (bool, error)) error {
	step, days := r.interval, []int{0}
	if r.isWeekly {
		step = 7 * r.interval
		offsets, err := r.offsets(start)
		if err != nil {
			return err
		}
		days = offsets
	}
	made := 0
	for round := 0; ; round++ {
		for _, day := range days {
			if day < 0 && round == 0 {
				continue // Before the first occurrence.
			}
			at := start.AddDate(0, 0, round*step+day)
			if r.count > 0 && made == r.count || !r.until.IsZero() && at.After(r.until) {
				return nil
			}
			made++
			goOn, err := visit(at)
			if err != nil || !goOn {
				return err
			}
		}
	}
}

// offsets gives the days of the rule from that of the start, which is one of them.
func (r *rule) offsets(start time.Time) ([]int, error) {
	if len(r.days) == 0 {
		return []int{0}, nil
	}
	first := (int(start.Weekday()) + 6) % 7
	if !slices.Contains(r.days, first) {
		return nil, otherRule // RFC 5545 3.8.5.3 leaves open what it means.
	}
	offsets := make([]int, 0, len(r.days))
	for _, day := range r.days {
		offsets = append(offsets, day-first)
	}
	return offsets, nil
}
