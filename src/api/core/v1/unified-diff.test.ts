import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unifiedDiff } from '#api/core/v1/unified-diff.ts'

const lines = (text: string): string[] => text.split('')

test('differences come in hunks with three lines around them', () => {
  const cases: [string, string, string][] = [
    ['abc', 'abc', ''],
    ['abc', 'axc', '@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n'],
    ['', 'a', '@@ -0,0 +1 @@\n+a\n'],
    ['abcdefghij', 'abcdefghiX', '@@ -7,4 +7,4 @@\n g\n h\n i\n-j\n+X\n'],
    ['1abcdefghijk2', '3abcdefghijk4', '@@ -1,4 +1,4 @@\n-1\n+3\n a\n b\n c\n@@ -10,4 +10,4 @@\n i\n j\n k\n-2\n+4\n'],
    ['1abcdef2', '3abcdef4', '@@ -1,8 +1,8 @@\n-1\n+3\n a\n b\n c\n d\n e\n f\n-2\n+4\n'],
  ]
  for (const [before, after, diff] of cases) assert.equal(unifiedDiff(lines(before), lines(after)), diff, `${before} to ${after}`)
})

test('in long texts, lines that come all the time do not start a run', () => {
  const before = Array.from({ length: 150 }, (_, index) => [`key ${index}`, 'null']).flat()
  const after = before.filter((line) => line !== 'key 7')
  assert.equal(unifiedDiff(before, after), '@@ -12,7 +12,6 @@\n null\n key 6\n null\n-key 7\n null\n key 8\n null\n')
})
