import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ClusterVersions, nodesInTurn, upgradePlan } from '#cmd/upgrade/upgrade-plan.ts'

const node = (name: string, version: string, isControlPlane = false, isReady = true) => ({ name, version, isControlPlane, isReady })
const problems = (server: string, nodes: ClusterVersions['nodes'] = []) =>
  upgradePlan({ target: 'v1.36.4', cluster: server, server, nodes }).problems.join('; ')

test('one minor version after the other, and never back', () => {
  assert.equal(problems('v1.36.4+typernetes-0.1.0'), '')
  assert.equal(problems('v1.36.1'), '')
  assert.equal(problems('v1.35.9'), '')
  assert.match(problems('v1.34.0'), /2 minor versions ahead/)
  assert.match(problems('v1.37.0'), /going back/)
  assert.match(problems('v1.36.9'), /going back/)
})

test('kubelets may be three minor versions behind, and not ahead', () => {
  assert.equal(problems('v1.36.0', [node('a', 'v1.33.0')]), '')
  assert.match(problems('v1.36.0', [node('a', 'v1.32.8')]), /kubelet of a is at v1.32.8, more than 3/)
  assert.match(problems('v1.36.0', [node('a', 'v1.37.0')]), /newer/)
  assert.match(problems('v1.36.0', [node('a', 'v1.36.0', false, false)]), /not ready/)
})

test('control planes come first, and who is there already does not come again', () => {
  const nodes = [node('w1', 'v1.35.0'), node('c1', 'v1.35.0', true), node('w2', 'v1.36.4'), node('c2', 'v1.35.0', true)]
  assert.deepEqual(nodesInTurn(nodes, 'v1.36.4'), ['c1', 'c2', 'w1'])
})
