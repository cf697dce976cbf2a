import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { flagName } from '#base/options.ts'
import { apiserverFlagsWithoutEffect, apiserverOptions } from '#cmd/apiserver/flags.ts'
import { withDashes } from '#cmd/component-names.ts'

const path = join(import.meta.dirname, '..', '..', '..', 'facts', 'flags', 'kube-apiserver.tsv')

test("every flag of upstream's is taken, and has its default where it has an effect", () => {
  const upstream = readFileSync(path, 'utf8')
    .split('\n')
    .slice(1)
    .filter((line) => line !== '')
    .map((line) => line.split('\t'))
  const ours = new Map(Object.entries(apiserverOptions).map(([key, option]) => [flagName(key), option]))
  const ignored = new Set(Object.keys(apiserverFlagsWithoutEffect).map(flagName))
  const own = new Set(['help', 'version'])
  assert.deepEqual(
    upstream.map(([flag = '']) => flag).filter((flag) => !ours.has(flag) && !ignored.has(flag) && !own.has(flag)),
    [],
  )
  for (const [flag = '', , type, value = ''] of upstream) {
    const option = ours.get(flag)
    if (option === undefined || flag === 'v') continue
    const given = value.replace(/^"|"$|^\[|\]$/g, '')
    if (type === 'duration') assert.equal(option.default, option.kind.parse(given), flag)
    else if (Array.isArray(option.default)) assert.deepEqual(option.default, option.kind.parse(given), flag)
    else assert.equal(String(option.default), given, flag)
  }
})

test('components take underscores for dashes in the names of flags, and leave values alone', () => {
  const argv = ['node', 'main', 'apiserver', '--etcd_servers=http://a_b:2379', '--v', '2']
  assert.deepEqual(withDashes(argv).slice(3), ['--etcd-servers=http://a_b:2379', '--v', '2'])
  assert.deepEqual(withDashes(['node', 'main', 'up', '--data_dir']), ['node', 'main', 'up', '--data_dir'])
})
