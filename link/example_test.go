package link_test

import (
	"fmt"

	"github.com/parley-mcp/parley/link"
)

func ExampleInspect() {
	for _, raw := range []string{
		"https://login.bank.example/authorize?client_id=1",
		"https://pаypal.com/signin", // the first a is Cyrillic
		"https://github.com@evil.example/",
	} {
		r := link.Inspect(raw, &link.Options{ServerDomain: "https://mcp.bank.example/"})
		fmt.Printf("%v %s %q\n", r.Verdict, r.Domain, r.Href)
		for _, f := range r.Findings {
			fmt.Println("  ", f.Text)
		}
	}
	// Output:
	// ok bank.example "https://login.bank.example/authorize?client_id=1"
	//    The server that asks and this page are on the same site, bank.example.
	// warn xn--pypal-4ve.com "https://xn--pypal-4ve.com/signin"
	//    The name xn--pypal-4ve mixes letters of different alphabets (Latin, Cyrillic), so that it may look like another name.
	//    xn--pypal-4ve.com looks like paypal.com, but it is another site.
	//    This is an international name. Its technical form is xn--pypal-4ve.com.
	//    The server that asks is at bank.example, this page is at xn--pypal-4ve.com.
	// refuse evil.example ""
	//    The address looks like it leads to github.com, but that is only a user name before an @ sign. It leads to evil.example.
}

func ExampleDefang() {
	fmt.Println(link.Defang("https://github.com@evil.example/login.html"))
	// Output: hxxps://github[.]com@evil[.]example/login.html
}
