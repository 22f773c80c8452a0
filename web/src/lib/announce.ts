// One polite live region for the whole page: a region that is made together
// with its first message is often not read, so it is made when the code loads.

let region: HTMLElement | null = null
let queue: string[] = []
let timer = 0

/** prepareAnnouncer puts the region into the document, where no other copy of this script has. */
export function prepareAnnouncer(): void {
	region ??= document.getElementById('parley-status')
	if (region) return
	region = document.createElement('div')
	region.id = 'parley-status'
	region.setAttribute('role', 'status')
	// Hidden from sight, not from screen readers; set by property since a page's
	// policy may forbid style attributes.
	Object.assign(region.style, { position: 'absolute', width: '1px', height: '1px', margin: '-1px', overflow: 'hidden', clipPath: 'inset(50%)', whiteSpace: 'nowrap' })
	document.body.append(region)
}

/** announce says a sentence once. */
export function announce(text: string): void {
	prepareAnnouncer()
	queue.push(text)
	if (!timer) timer = window.setTimeout(next, 100)
}

function next(): void {
	timer = 0
	const text = queue.shift()
	if (text === undefined || !region) return
	if (region.textContent === text) {
		// The same words are no change, and would not be read.
		region.textContent = ''
		queue.unshift(text)
		timer = window.setTimeout(next, 100)
		return
	}
	region.textContent = text
	timer = window.setTimeout(next, 1_500)
}
