package link
func (in *inspection) scripts(h host) {}
func (in *inspection) imitation(h host) {}
