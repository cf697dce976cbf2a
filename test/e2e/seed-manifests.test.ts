/** Manifests of every age, as people have them lying about: each goes in, comes back, is described, and goes. */
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { loadAll } from 'js-yaml'
import { installedKubectls, type Kubectl, kubectl } from '../support/kubectl.ts'
import { type RunningCluster, startCluster } from '../support/running-cluster.ts'

const directory = join(import.meta.dirname, '..', '..', '..', 'shared', 'seed-manifests')
const files = globSync(join(directory, '*.yaml')).sort()
const newest = installedKubectls().at(-1)
const reason = !existsSync(directory)
  ? 'the manifests (../shared/seed-manifests) are not at hand'
  : newest === undefined
    ? 'kubectl is not installed'
    : false

/** Files that no API server takes as they are. */
const otherwise: Readonly<Record<string, string>> = {
  '31-crd-v1beta1.yaml': 'custom resources are not served yet',
  '32-custom-resource.yaml': 'custom resources are not served yet',
  '33-vpa.yaml': 'a custom resource whose definition an add-on brings: no server knows it by itself',
  '34-kubelet-config.yaml': 'the configuration file of a program, no API object',
}

type Manifest = { kind: string; metadata?: { name?: string; namespace?: string } }

describe('seed manifests', { skip: reason }, () => {
  let cluster: RunningCluster
  let client: Kubectl
  before(async () => {
    cluster = await startCluster(['--store', 'memory', '--runtime', 'none', '--controllers=', '--scheduler=false'])
    client = kubectl(newest?.path ?? '', newest?.version ?? '', cluster.kubeconfig)
  })
  after(() => cluster[Symbol.asyncDispose]())

  const ok = (...args: string[]): string => {
    const { exitCode, stdout, stderr } = client.run(args)
    assert.equal(exitCode, 0, `kubectl ${args.join(' ')}\n${stdout}${stderr}`)
    return stdout
  }
  const isThere = (...args: string[]) => client.run(['get', ...args]).exitCode === 0

  /** What a controller would have made, or whoever wrote the manifest before it. */
  const prepare = (manifests: readonly Manifest[]) => {
    const own = new Set(manifests.filter(({ kind }) => kind === 'Namespace').map(({ metadata }) => metadata?.name))
    const used = new Set(manifests.flatMap(({ metadata }) => metadata?.namespace ?? 'default'))
    for (const namespace of used) {
      if (own.has(namespace)) continue
      if (!isThere('namespace', namespace)) ok('create', 'namespace', namespace)
      if (!isThere('serviceaccount', 'default', '-n', namespace)) ok('create', 'serviceaccount', 'default', '-n', namespace)
    }
  }

  /** Lets go of what a controller would clean up after before it is gone. */
  const release = ({ kind, metadata: { name = '', namespace = 'default' } = {} }: Manifest) => {
    const found = client.run(['get', kind, name, '-n', namespace, '-o', 'json'])
    if (found.exitCode !== 0) return
    if (kind === 'Namespace') {
      const finalized = { ...(JSON.parse(found.stdout) as Manifest), spec: { finalizers: [] } }
      const { exitCode, stderr } = client.run(['replace', '--raw', `/api/v1/namespaces/${name}/finalize`, '-f', '-'], {
        input: JSON.stringify(finalized),
      })
      assert.equal(exitCode, 0, stderr)
    } else ok('patch', kind, name, '-n', namespace, '--type=merge', '-p', '{"metadata":{"finalizers":null}}')
  }

  for (const path of files) {
    const name = basename(path)
    test(name, { skip: otherwise[name] ?? false }, () => {
      const manifests = loadAll(readFileSync(path, 'utf8')).filter((document) => document !== null) as Manifest[]
      prepare(manifests)
      const created = ok('create', '-f', path)
      assert.equal(created.trim().split('\n').length, manifests.length, created)
      assert.equal(ok('get', '-f', path, '-o', 'name').trim().split('\n').length, manifests.length)
      const described = ok('describe', '-f', path)
      for (const { metadata } of manifests) assert.match(described, new RegExp(`Name: +${metadata?.name}`))
      ok('delete', '-f', path, '--now', '--wait=false')
      for (const manifest of manifests) release(manifest)
      assert.equal(isThere('-f', path), false)
    })
  }
})
