import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LocalNodes } from '#cmd/up/local-nodes.ts'

test('a node is reached where it was added, for as long as it is there', () => {
  const nodes = new LocalNodes()
  assert.equal(nodes.hostOf('a'), undefined)
  nodes.add('a', '127.0.0.1')
  assert.equal(nodes.hostOf('a'), '127.0.0.1')
  nodes.remove('a')
  assert.equal(nodes.hostOf('a'), undefined)
})

test('a node without a listener is served by whoever knows it', () => {
  const nodes = new LocalNodes()
  const [first, second] = [() => {}, () => {}]
  nodes.serveBy((name) => (name === 'sim-1' ? first : undefined))
  nodes.serveBy((name) => (name === 'sim-2' ? second : undefined))
  assert.equal(nodes.connectNode('sim-2'), second)
  assert.equal(nodes.connectNode('sim-1'), first)
  assert.equal(nodes.connectNode('other'), undefined)
})
