// A card as the product's are: a custom element with an open shadow root.
const sheet = new CSSStyleSheet();
sheet.replaceSync('.hidden { display: none } .cover { position: relative } .cover::after { content: ""; position: absolute; inset: 0 }');

function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value; else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

customElements.define('demo-card', class extends HTMLElement {
  connectedCallback() {
    const server = this.getAttribute('server');
    const root = this.attachShadow({ mode: 'open' });
    root.adoptedStyleSheets = [sheet];
    const amount = el('input', { id: 'amount', inputMode: 'numeric', required: true, 'aria-describedby': 'hint' });
    const error = el('p', { role: 'alert' });
    const shown = el('p', { id: 'shown', role: 'status' });
    root.append(el('section', { role: 'group', ariaLabel: `${server} asks` },
      el('label', { htmlFor: 'amount' }, 'Amount'), amount, el('p', { id: 'hint' }, 'Whole number.'),
      el('label', { htmlFor: 'day' }, 'Day'), el('input', { id: 'day', type: 'date' }),
      el('label', { htmlFor: 'seat' }, 'Seat'), el('select', { id: 'seat' }, el('option', { value: 'w' }, 'Window'), el('option', { value: 'a' }, 'Aisle')),
      el('label', {}, el('input', { type: 'checkbox', id: 'meal' }), 'Meal'),
      error, shown,
      el('p', { className: 'hidden' }, 'nobody sees this'),
      el('button', { onclick: () => {
        const ok = /^[0-9]+$/.test(amount.value);
        amount.ariaInvalid = String(!ok);
        error.textContent = ok ? '' : 'Amount must be a whole number';
        if (!ok) { amount.focus(); return; }
        const say = () => { shown.textContent = `${server}: ${amount.value}, ${root.querySelector('#day').value}, ${root.querySelector('#seat').value}, ${root.querySelector('#meal').checked}`; };
        localStorage.setItem(server, amount.value);
        setTimeout(say, 50); // as an answer from a backend comes later
      } }, `Send to ${server}`),
      el('button', { disabled: true }, 'Later'),
      el('div', { className: 'cover' }, el('button', {}, 'Covered'))));
  }
});
