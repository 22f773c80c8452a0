// When the buttons of a card, or of a call, take a press. Not while a request is on its way; and
// a card may appear under the pointer of somebody who is about to press what was
// there before, so what lets something through takes presses only when it has been
// there for a moment. What refuses may be pressed at once.

const moment = 500 // milliseconds

export class Presses {
	#busy = false
	#drawn = ''
	#timer = 0
	readonly #root: ParentNode
	readonly #lets: (part: string) => boolean
	readonly #lacks: (part: string) => boolean

	/**
	 * lets says of which buttons the press lets something through; a button has its part in data-action.
	 * lacks says of which the press lacks something to act with, until dim is called.
	 */
	constructor(root: ParentNode, lets: (part: string) => boolean, lacks: (part: string) => boolean = () => false) {
		this.#root = root
		this.#lets = lets
		this.#lacks = lacks
	}

	/** busy says whether a request is on its way. */
	get busy(): boolean {
		return this.#busy
	}

	set busy(busy: boolean) {
		this.#busy = busy
		this.dim()
	}

	/** ignored says whether a press of that button does nothing now. */
	ignored(part: string): boolean {
		return this.#busy || this.#lacks(part) || this.#timer !== 0 && this.#lets(part)
	}

	/** drawn is told what there is to agree to before it is drawn; "" is nothing. Where it is new, the moment begins. */
	drawn(what: string): void {
		if (what === this.#drawn) return
		this.#drawn = what
		window.clearTimeout(this.#timer)
		this.#timer = what === '' ? 0 : window.setTimeout(() => {
			this.#timer = 0
			this.dim()
		}, moment)
		this.dim()
	}

	/**
	 * dim shows which presses do nothing. Buttons stay enabled for screen readers and keyboards; the
	 * card is not drawn anew, so that nothing moves while a request is on its way. A card of a sign-in
	 * to a server has its own press.
	 */
	dim(): void {
		for (const button of this.#root.querySelectorAll<HTMLElement>('button[data-action]:not([data-part="sign-in"] *)')) {
			if (this.ignored(button.dataset['action'] ?? '')) button.setAttribute('aria-disabled', 'true')
			else button.removeAttribute('aria-disabled')
		}
	}
}
