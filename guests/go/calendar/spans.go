package export_tidegate_plugin_tools

import (
	"slices"
	"time"
)

// span is from start on, up to but not including end.
type span struct {
	start, end time.Time
}

// spans collects what lies in a window.
type spans struct {
	window span
	kept   []span
}

func newSpans(window span) *spans {
	return &spans{window: window}
}

// compactAt is how many spans are kept before those that touch are made one.
const compactAt = 4096

func (s *spans) add(one span) {
	if one.start.Before(s.window.start) {
		one.start = s.window.start
	}
	if one.end.After(s.window.end) {
		one.end = s.window.end
	}
	if !one.end.After(one.start) {
		return
	}
	s.kept = append(s.kept, one)
	if len(s.kept)%compactAt == 0 {
		s.kept = s.merged()
	}
}

// merged gives what is kept in order, with those that touch as one.
func (s *spans) merged() []span {
	slices.SortFunc(s.kept, func(a, b span) int { return a.start.Compare(b.start) })
	merged := make([]span, 0, len(s.kept))
	for _, one := range s.kept {
		last := len(merged) - 1
		switch {
		case last < 0 || one.start.After(merged[last].end):
			merged = append(merged, one)
		case one.end.After(merged[last].end):
			merged[last].end = one.end
		}
	}
	return merged
}

// gaps gives what of the window lies between spans in order.
func gaps(window span, busy []span) []span {
	free := []span{}
	at := window.start
	for _, one := range busy {
		if one.start.After(at) {
			free = append(free, span{at, one.start})
		}
		at = one.end
	}
	if window.end.After(at) {
		free = append(free, span{at, window.end})
	}
	return free
}
