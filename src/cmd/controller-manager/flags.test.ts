import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { flagName } from '#base/options.ts'
import { controllerManagerOptions, managerFlagsWithoutEffect } from '#cmd/controller-manager/flags.ts'
import { controllers } from '#controllers/controllers.ts'
import { selectControllers } from '#controllers/runtime/select-controllers.ts'

const path = join(import.meta.dirname, '..', '..', '..', 'facts', 'flags', 'kube-controller-manager.tsv')

/** Where we differ on purpose: nothing is served to others unless asked for. */
const otherwise: Readonly<Record<string, string>> = { 'bind-address': '127.0.0.1' }

test("every flag of upstream's is taken, and has its default where it has an effect", () => {
  const upstream = readFileSync(path, 'utf8')
    .split('\n')
    .slice(1)
    .filter((line) => line !== '')
    .map((line) => line.split('\t'))
  const ours = new Map(Object.entries(controllerManagerOptions).map(([key, option]) => [flagName(key), option]))
  const ignored = new Set(Object.keys(managerFlagsWithoutEffect).map(flagName))
  const own = new Set(['help', 'version'])
  assert.deepEqual(
    upstream.map(([flag = '']) => flag).filter((flag) => !ours.has(flag) && !ignored.has(flag) && !own.has(flag)),
    [],
  )
  for (const [flag = '', , type, value = ''] of upstream) {
    const option = ours.get(flag)
    if (option === undefined) continue
    const given = value.replace(/^"|"$|^\[|\]$/g, '')
    if (otherwise[flag] !== undefined) assert.equal(option.default, otherwise[flag])
    else if (type === 'duration') assert.equal(option.default, option.kind.parse(given), flag)
    else if (Array.isArray(option.default)) assert.deepEqual(option.default, option.kind.parse(given), flag)
    else if (given !== '' && !['node-cidr-mask-size-ipv4', 'node-cidr-mask-size-ipv6'].includes(flag))
      assert.equal(String(option.default), given, flag)
  }
})

test('controllers are chosen in upstream’s syntax', () => {
  const chosen = (...list: string[]) => selectControllers(controllers, list).map(({ alias }) => alias)
  assert.ok(chosen('*').includes('job') && !chosen('*').includes('tokencleaner'))
  assert.ok(chosen('*', 'tokencleaner').includes('tokencleaner'))
  assert.ok(!chosen('*', '-job').includes('job'))
  assert.ok(!chosen('*', '-job-controller').includes('job'))
  assert.deepEqual(chosen('endpoint', 'cronjob-controller'), ['endpoint', 'cronjob'])
  // Those that are not here yet may be named.
  assert.deepEqual(chosen('service', 'node-route-controller', 'job'), ['job'])
  assert.throws(() => chosen('nonsense'), /"nonsense" is not in the list of known controllers/)
})
