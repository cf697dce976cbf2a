import assert from 'node:assert/strict'
import { test } from 'node:test'
import { flagName, type OptionValues } from '#base/options.ts'
import { defaultAutoscalerOptions } from '#cluster-autoscaler/options.ts'
import {
  type ClusterAutoscalerFlags,
  clusterAutoscalerFlagsWithoutEffect,
  clusterAutoscalerOptions,
} from '#cmd/cluster-autoscaler/flags.ts'
import { groupOfName } from '#cmd/cluster-autoscaler/machine-nodes.ts'
import { optionsOfFlags } from '#cmd/cluster-autoscaler/options-of-flags.ts'

const defaults = Object.fromEntries(Object.entries(clusterAutoscalerOptions).map(([key, option]) => [key, option.default])) as OptionValues<
  typeof clusterAutoscalerOptions
>

test('flags that are not given are what the autoscaler does by itself', () => {
  assert.deepEqual(optionsOfFlags(defaults), defaultAutoscalerOptions)
})

test('flags mean what they say', () => {
  const flags: ClusterAutoscalerFlags = {
    ...defaults,
    expander: ['priority', 'least-waste'],
    coresTotal: '4:100',
    memoryTotal: '8:1000',
    scaleDownUnneededTime: 120_000,
    ignoreDaemonsetsUtilization: true,
  }
  const options = optionsOfFlags(flags)
  assert.deepEqual(options.expanders, ['priority', 'least-waste'])
  assert.deepEqual(
    [options.coresTotal, options.memoryTotalBytes],
    [
      { min: 4, max: 100 },
      { min: 8 * 2 ** 30, max: 1000 * 2 ** 30 },
    ],
  )
  assert.deepEqual([options.group.scaleDownUnneededMs, options.group.ignoreDaemonSetsUtilization], [120_000, true])
  assert.throws(() => optionsOfFlags({ ...defaults, expander: ['cheapest'] }), /--expander: cheapest is none of random, most-pods/)
})

test('no flag is taken and forgotten at once', () => {
  const both = Object.keys(clusterAutoscalerFlagsWithoutEffect).filter((key) => key in clusterAutoscalerOptions)
  assert.deepEqual(both.map(flagName), [])
})

test('nodes of this machine belong to the group whose name they have', () => {
  const groups = [{ name: 'a' }, { name: 'a-b' }]
  const rows = { 'a-1': 'a', 'a-b-12': 'a-b', 'a-b': undefined, 'a-': undefined, 'node-1': undefined, 'a-x1': undefined }
  for (const [name, group] of Object.entries(rows)) assert.equal(groupOfName(name, groups), group, name)
})
