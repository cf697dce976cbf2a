import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mergedData } from '#apiserver/bootstrap/authentication-config.ts'

const certificate = (text: string) => `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----`

test('authorities and names of other API servers stay', () => {
  const existing = { 'client-ca-file': `${certificate('old')}\n`, 'requestheader-allowed-names': '["theirs"]', other: 'kept' }
  const wanted = { 'client-ca-file': certificate('new'), 'requestheader-allowed-names': '["ours"]' }
  assert.deepEqual(mergedData(existing, wanted), {
    'client-ca-file': `${certificate('old')}\n${certificate('new')}\n`,
    'requestheader-allowed-names': '["theirs","ours"]',
    other: 'kept',
  })
})

test('what is there already is left as it is, to the letter', () => {
  const existing = { 'client-ca-file': `# ours\n${certificate('a')}\n\n${certificate('b')}`, 'requestheader-allowed-names': '["b", "a"]' }
  const wanted = { 'client-ca-file': `${certificate('a')}\n`, 'requestheader-allowed-names': '["a"]' }
  assert.deepEqual(mergedData(existing, wanted), existing)
})

test('what makes no sense is replaced', () => {
  assert.deepEqual(mergedData({ names: 'nonsense' }, { names: '["a"]' }), { names: '["a"]' })
})
