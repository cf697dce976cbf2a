import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expandVariables } from '#kubelet/environment/expand-variables.ts'

const values: Record<string, string> = { A: 'a', B: '$(A)', EMPTY: '', 'x.y': 'dotted' }

const cases: [text: string, expanded: string][] = [
  ['', ''],
  ['plain', 'plain'],
  ['$(A)', 'a'],
  ['-$(A)-$(A)-', '-a-a-'],
  ['$(B)', '$(A)'],
  ['$(EMPTY)', ''],
  ['$(NONE)', '$(NONE)'],
  ['$$(A)', '$(A)'],
  ['$$$(A)', '$a'],
  ['$$$$(A)', '$$(A)'],
  ['$A $[A]', '$A $[A]'],
  ['$(A', '$(A'],
  ['$(A) $(A$$B$(', 'a $(A$B$('],
  ['$', '$'],
  ['$$', '$'],
  ['foo$', 'foo$'],
  ['$()', '$()'],
  ['$(A$(A))', '$(A$(A))'],
  ['$(x.y)', 'dotted'],
  ['$(A)$', 'a$'],
  ['($(A))', '(a)'],
]

for (const [text, expanded] of cases) {
  test(`${JSON.stringify(text)} becomes ${JSON.stringify(expanded)}`, () => {
    assert.equal(
      expandVariables(text, (name) => values[name]),
      expanded,
    )
  })
}

test('a million references that nobody closes are looked at once', () => {
  const text = '$('.repeat(1_000_000)
  assert.equal(
    expandVariables(text, () => 'a'),
    text,
  )
})
