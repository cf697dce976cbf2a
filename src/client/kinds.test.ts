import assert from 'node:assert/strict'
import { test } from 'node:test'
import { builtInKinds } from '#api/kinds.ts'
import * as kinds from '#client/kinds.ts'

test('clients look for every kind where the server has it, and none of the stable ones is missing', () => {
  const addressOf = ({ group, version, kind, plural, scope }: (typeof builtInKinds)[number]) =>
    [group, version, kind, plural, scope].join(' ')
  const known = Object.values(kinds).filter((each) => typeof each === 'object')
  const served = new Set(builtInKinds.map(addressOf))
  assert.deepEqual(
    known.map((kind) => addressOf(kind as (typeof builtInKinds)[number])).filter((address) => !served.has(address)),
    [],
  )
  const names = new Set(known.map(({ group, plural }) => `${group}/${plural}`))
  const stable = builtInKinds.filter(({ version, verbs }) => /^v\d+$/.test(version) && (verbs === undefined || verbs.includes('list')))
  assert.deepEqual(
    stable.filter(({ group, plural }) => !names.has(`${group}/${plural}`)).map(({ plural }) => plural),
    ['componentstatuses'],
  )
})

test('kinds of custom resources are namespaced unless said', () => {
  const address = { group: 'example.com', version: 'v1', kind: 'Widget', plural: 'widgets' }
  assert.equal(kinds.defineKind(address).scope, 'Namespaced')
  assert.equal(kinds.defineKind({ ...address, scope: 'Cluster' }).scope, 'Cluster')
})
