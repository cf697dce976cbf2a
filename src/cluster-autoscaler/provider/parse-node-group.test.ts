import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseNodeGroup } from '#cluster-autoscaler/provider/parse-node-group.ts'

test('a group is its sizes and its name, and for those who care the shape of its machines', () => {
  assert.deepEqual(
    ['1:10:workers', '0:3:a:b/c'].map(parseNodeGroup).map(({ minSize, maxSize, name }) => [minSize, maxSize, name]),
    [
      [1, 10, 'workers'],
      [0, 3, 'a:b/c'],
    ],
  )
  const { shape, isSimulated } = parseNodeGroup(
    '0:5:big,simulated,cpu=16,memory=64Gi,pods=20,price=0.8,boot=90s,zone=a,label=disk=ssd,taint=gpu=yes:NoSchedule,taint=x:NoExecute',
  )
  assert.ok(isSimulated)
  assert.deepEqual(shape, {
    cpu: '16',
    memory: '64Gi',
    pods: '20',
    pricePerHour: 0.8,
    bootMs: 90_000,
    labels: { 'topology.kubernetes.io/zone': 'a', disk: 'ssd' },
    taints: [
      { key: 'gpu', value: 'yes', effect: 'NoSchedule' },
      { key: 'x', effect: 'NoExecute' },
    ],
  })
})

test('what is no group is refused with what would be one', () => {
  const rows: [string, RegExp][] = [
    ['workers', /a node group is written MIN:MAX:NAME/],
    ['1:x:workers', /a node group is written MIN:MAX:NAME/],
    ['1:2:', /a node group is written MIN:MAX:NAME/],
    ['5:2:workers', /max size must be greater or equal to min size/],
    ['0:0:workers', /max size must be greater than 0/],
    ['0:1:a,cpu=many', /"many" is not an amount such as 4 or 16Gi/],
    ['0:1:a,price=-1', /"-1" is not a price/],
    ['0:1:a,boot=soon', /"soon" is not a length of time such as 90s/],
    ['0:1:a,taint=x', /x is not a taint such as gpu=yes:NoSchedule/],
    ['0:1:a,colour=red', /colour=red is none of cpu=/],
  ]
  for (const [text, message] of rows) assert.throws(() => parseNodeGroup(text), message)
})
