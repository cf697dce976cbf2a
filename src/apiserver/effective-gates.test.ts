import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { FeatureGates } from '#api/meta/feature-gates.ts'
import { gatesWithoutEffect } from '#api/meta/gates-without-effect.ts'
import { effectiveApiServerGates } from '#apiserver/effective-gates.ts'

/** Named in the source, and no switch of this server: gates of a whole stage, and a feature that nodes say they have. */
const notAsked = new Set(['AllAlpha', 'AllBeta', 'ExtendWebSocketsToKubelet'])

test('every gate that an API server asks for counts as one with an effect, and each of those is asked for', () => {
  const known = new Set(new FeatureGates().entries().map(([name]) => name))
  const asked = new Set<string>()
  for (const room of [import.meta.dirname, join(import.meta.dirname, '..', 'api')]) {
    for (const path of readdirSync(room, { recursive: true, encoding: 'utf8' })) {
      if (!path.endsWith('.ts') || /\.test\.ts$|\.gen\.ts$|testing\/|effective-gates\.ts$|meta\/feature-gates\.ts$/.test(path)) continue
      for (const [, name = ''] of readFileSync(join(room, path), 'utf8').matchAll(/'(\w+)'/g))
        if (known.has(name) && !notAsked.has(name)) asked.add(name)
    }
  }
  assert.deepEqual([...asked].sort(), [...effectiveApiServerGates].sort())
})

test('gates that change nothing are named, those that stand as usual are not, and unknown ones are refused', () => {
  const given = ['HPAScaleToZero=true', 'kube:GangScheduling=true', 'APIResponseCompression=true', 'WatchList=false', 'AllAlpha=true']
  assert.deepEqual(gatesWithoutEffect(given, effectiveApiServerGates), ['GangScheduling', 'WatchList'])
  assert.throws(() => gatesWithoutEffect(['Nonsense=true'], effectiveApiServerGates), /unrecognized feature gate: Nonsense/)
})
