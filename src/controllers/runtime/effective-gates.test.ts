import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { FeatureGates } from '#api/meta/feature-gates.ts'
import { gatesWithoutEffect } from '#api/meta/gates-without-effect.ts'
import { effectiveControllerGates } from './effective-gates.ts'

test('every gate that a controller asks for counts as one with an effect, and each of those is asked for', async () => {
  const room = join(import.meta.dirname, '..')
  const asked = new Set<string>()
  for (const path of await readdir(room, { recursive: true })) {
    if (!path.endsWith('.ts') || path.endsWith('.test.ts') || path.endsWith('effective-gates.ts')) continue
    const text = readFileSync(join(room, path), 'utf8')
    for (const [, name = ''] of text.matchAll(/isEnabled\('(\w+)'\)/g)) asked.add(name)
    for (const [, name = ''] of text.matchAll(/\bconst \w*[gG]ate = '(\w+)'/g)) asked.add(name)
  }
  assert.deepEqual([...asked].sort(), [...effectiveControllerGates].sort())
})

test('they are gates of Kubernetes', () => {
  const { isEnabled } = new FeatureGates()
  for (const gate of effectiveControllerGates) assert.equal(typeof isEnabled(gate), 'boolean')
})

test('gates that change nothing are named, those that stand as usual are not', () => {
  const given = ['HPAScaleToZero=true', 'kube:GangScheduling=true', 'EnvFiles=true', 'AllAlpha=true']
  assert.deepEqual(gatesWithoutEffect(given, effectiveControllerGates), ['GangScheduling'])
})
