package wiretap

var children = map[string]func() int{}
