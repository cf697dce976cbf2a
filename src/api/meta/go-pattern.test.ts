import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aboutInstructions, goMatches, goPattern } from '#api/meta/go-pattern.ts'

test('a pattern is compiled once, finds what Go would, and one that Go refuses is refused each time', () => {
  const pattern = '^(?i)[a-z]+\\z'
  assert.equal(goPattern(pattern), goPattern(pattern))
  assert.deepEqual(
    ['Web', 'web\n', '1'].map((text) => goPattern(pattern).matcher(text).find()),
    [true, false, false],
  )
  for (const _ of ['first', 'second']) assert.throws(() => goPattern('(?=a)'))
})

test('patterns that nobody asked for lately are forgotten', () => {
  const first = goPattern('first')
  for (let index = 0; index < 1000; index++) goPattern(`pattern ${index}`)
  assert.notEqual(goPattern('first'), first)
  assert.ok(goPattern('first').matcher('the first').find())
})

test('a pattern that counted repetitions make too large is refused before it is compiled', () => {
  const large = `(${'a'.repeat(990)}){1000}`
  assert.throws(() => goPattern(large), /expression too large/)
  assert.throws(() => goPattern('(((((a{9}){9}){9}){9}){9}){9}'), /expression too large/)
  // Within Go's limits for repetitions, and sound.
  assert.ok(goPattern('^([a-z0-9]{1,63}\\.){1,10}[a-z]{2,63}$').matcher('www.example.org').find())
})

test('the size of a compiled pattern is known beforehand, roughly', () => {
  for (const pattern of [
    '^.{1,253}$',
    '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
    '(abc|d[]e]f){10,20}\\{3}x',
    '(?:a{5}){100}[^]\\]]{7}',
  ]) {
    const [about, size] = [aboutInstructions(pattern), goPattern(pattern).programSize()]
    assert.ok(about >= size / 2 && about <= 4 * size + 20, `${pattern}: ${about} instead of ${size}`)
  }
})

test('a long text is matched as a short one is', () => {
  for (const [pattern, unit, isMatch] of [
    ['^(a+)+(b|c)*$', 'a', true],
    ['^[a-z]{1,63}$', 'a', false],
    ['é😀$', 'é😀', true],
    ['\\bx\\b', 'x ', true],
    ['(a|b)*c', 'ab', false],
  ] as const) {
    for (const count of [100, 50_000]) assert.equal(goMatches(pattern, unit.repeat(count)), isMatch, `${pattern} ${count}`)
  }
})

test('a megabyte of what nobody closes is no pattern', () => {
  for (const char of '([{') assert.throws(() => goPattern(char.repeat(1_000_000)), /error parsing regexp: expression too large/)
})
