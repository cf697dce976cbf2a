import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { podNamed } from '#kubelet/node/pod-named.ts'

const pod = (namespace: string, name: string, uid: string): V1Pod => ({ metadata: { namespace, name, uid }, spec: { containers: [] } })

test('of two pods of one name the one that came later is meant', () => {
  const pods = [pod('a', 'web-0', 'old'), pod('b', 'web-0', 'other'), pod('a', 'web-0', 'new'), pod('a', 'web-1', 'next')]
  assert.equal(podNamed(pods, 'a', 'web-0')?.metadata.uid, 'new')
  assert.equal(podNamed(pods, 'b', 'web-0')?.metadata.uid, 'other')
  assert.equal(podNamed(pods, 'b', 'web-1'), undefined)
})
