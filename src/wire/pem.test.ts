import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodePem, decodePemBlocks } from '#wire/pem.ts'

const block = (type: string, body = 'YWJj') => `-----BEGIN ${type}-----\n${body}\n-----END ${type}-----\n`

test('of beginnings without an end the last one counts', () => {
  const text = `-----BEGIN A-----\nYWJj\n${block('B')}tail`
  const { block: found, rest } = decodePem(text)
  assert.equal(found?.type, 'B')
  assert.equal(String(found?.bytes), 'abc')
  assert.equal(rest, 'tail')
})

test('a broken block is skipped with its end', () => {
  const types = (text: string) => decodePemBlocks(text).map(({ type }) => type)
  assert.deepEqual(types(`${block('A', '!')}${block('B')}`), ['B'])
  assert.deepEqual(types(`${block('A').replace('END A', 'END C')}${block('B')}`), ['B'])
  assert.deepEqual(types(`x-----BEGIN A-----\nYWJj\n-----END A-----\n${block('B')}`), ['B'])
  assert.deepEqual(types(`-----END A-----\n${block('B')}`), ['B'])
  assert.deepEqual(types(`-----BEGIN A-----  \nkey: value\n-----END A-----\n${block('B')}`), ['B'])
})

test('a megabyte of beginnings, of ends, of blanks or of headers is looked at once', () => {
  const size = 1_000_000
  const filled = (part: string) => part.repeat(size / part.length)
  for (const text of [
    filled('-----BEGIN A-----\n'),
    `${filled('-----BEGIN A-----\n')}\n-----END A-----\n`,
    `${filled('-----BEGIN A-----\n')}\n-----END B-----\n`,
    filled('\n-----END A-----'),
    filled('-----BEGIN A-----\n-----END B-----\n'),
    `${filled('-----BEGIN A:-----\n-----END B:-----\n')}z`,
    `-----BEGIN A-----\n${filled(' ')}x\n-----END A-----`,
    `-----BEGIN ${filled(' ')}x\n-----END A-----`,
    `-----BEGIN A-----\n${filled('a:b\n')}\n-----END A-----x`,
  ]) {
    decodePemBlocks(text)
  }
})
