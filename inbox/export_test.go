package inbox

// Arrow is an arrow as the tests see it.
type Arrow struct {
	From, To, Why string
}

func arrows[S ~string](table []arrow[S]) (list []Arrow) {
	for _, a := range table {
		list = append(list, Arrow{string(a.from), string(a.to), a.why})
	}
	return list
}

func CallArrows() []Arrow     { return arrows(callArrows) }
func QuestionArrows() []Arrow { return arrows(questionArrows) }
func ApprovalArrows() []Arrow { return arrows(approvalArrows) }

var (
	Digest  = digest
	BaseKey = baseKey
)

// Fence is the fencing number of a claim.
func Fence(c *Claim) int64 { return c.fence }
