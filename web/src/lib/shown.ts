// Evidence that a card was shown: it was in sight for a second, on a page that
// was in sight itself. It says nothing of what the card holds.

const enough = 1_000 // milliseconds
const half = 0.5 // of the card, or of the viewport where the card is larger

/** whenShown calls back once, with the evidence. The returned function gives up. */
export function whenShown(node: Element, shown: (evidence: string) => void): () => void {
	let inSight = false
	let timer = 0
	const judge = (): void => {
		const counts = inSight && !document.hidden
		if (!counts) {
			window.clearTimeout(timer)
			timer = 0
		} else if (timer === 0) {
			timer = window.setTimeout(() => {
				leave()
				shown(`in view ${enough / 1_000} s, ${window.innerWidth}x${window.innerHeight}`)
			}, enough)
		}
	}
	const observer = new IntersectionObserver((entries) => {
		const entry = entries.at(-1)
		if (!entry) return
		const view = entry.rootBounds?.height ?? window.innerHeight
		inSight = entry.isIntersecting && (entry.intersectionRatio >= half || entry.intersectionRect.height >= view * half)
		judge()
	}, { threshold: [0, 0.1, 0.2, 0.3, 0.4, half, 0.75, 1] })
	const leave = (): void => {
		observer.disconnect()
		window.clearTimeout(timer)
		document.removeEventListener('visibilitychange', judge)
	}
	document.addEventListener('visibilitychange', judge)
	observer.observe(node)
	return leave
}
