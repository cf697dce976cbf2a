import assert from 'node:assert/strict'
import { test } from 'node:test'
import { apiserverFlagsWithoutEffect, apiserverOptions } from '#cmd/apiserver/flags.ts'
import { withDashes } from '#cmd/component-names.ts'
import { assertUpstreamFlags } from '#cmd/testing/upstream-flags.ts'

test("every flag of upstream's is taken, and has its default where it has an effect", () => {
  assertUpstreamFlags('kube-apiserver', {
    options: apiserverOptions,
    withoutEffect: apiserverFlagsWithoutEffect,
    otherwise: { v: undefined },
  })
})

test('components take underscores for dashes in the names of flags, and leave values alone', () => {
  const argv = ['node', 'main', 'apiserver', '--etcd_servers=http://a_b:2379', '--v', '2']
  assert.deepEqual(withDashes(argv).slice(3), ['--etcd-servers=http://a_b:2379', '--v', '2'])
  assert.deepEqual(withDashes(['node', 'main', 'up', '--data_dir']), ['node', 'main', 'up', '--data_dir'])
})
