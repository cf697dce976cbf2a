import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Secret } from '#api/core/v1/kinds.gen.ts'
import { nodeFiles } from '#base/files.ts'
import { seededRandom } from '#base/random.ts'
import { downloadCertificates, newCertificateKey, uploadCertificates } from '#cmd/control-plane/shared-certificates.ts'
import { sharedOptions, usualOptions } from '#cmd/control-plane/shared-options.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

const directory = mkdtempSync(join(tmpdir(), 'tn-shared-'))
after(() => rmSync(directory, { recursive: true }))
const seams = { files: nodeFiles, random: seededRandom(5) }

test('keys go from one machine to another under a key that users carry, and are gone after two hours', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true, controllers: ['tokencleaner', 'garbagecollector'] })
  const [first, second] = [join(directory, 'first'), join(directory, 'second')]
  mkdirSync(join(first, 'pki'), { recursive: true })
  for (const name of ['ca.crt', 'ca.key', 'sa.key', 'encryption.json', 'admin.pem'])
    writeFileSync(join(first, 'pki', name), `text of ${name}`)
  const etcdCafile = join(directory, 'etcd-authority.pem')
  writeFileSync(etcdCafile, 'text of etcd')
  const certificateKey = newCertificateKey(seams.random)
  const etcdFiles = { etcdCafile, etcdCertfile: '', etcdKeyfile: '' }
  const what = { dataDir: first, etcdFiles, certificateKey, nowMs: cluster.clock.now() }
  await uploadCertificates(cluster.client, what, seams)
  // Again, since users forget keys.
  await uploadCertificates(cluster.client, what, seams)

  const stored = await cluster.client.get(Secret, 'kube-system', 'kubeadm-certs')
  assert.deepEqual(Object.keys(stored.data ?? {}).sort(), ['ca.crt', 'ca.key', 'encryption.json', 'external-etcd-ca.crt', 'sa.key'])
  assert.ok(!Buffer.from(stored.data?.['ca.key'] ?? '', 'base64').includes('text of ca.key'))

  const other = newCertificateKey(seams.random)
  await assert.rejects(
    downloadCertificates(cluster.client, { dataDir: second, certificateKey: other }, nodeFiles),
    /--certificate-key: it is not the one/,
  )
  const laid = await downloadCertificates(cluster.client, { dataDir: second, certificateKey }, nodeFiles)
  assert.equal(readFileSync(join(second, 'pki', 'ca.key'), 'utf8'), 'text of ca.key')
  assert.equal(statSync(join(second, 'pki', 'ca.key')).mode & 0o777, 0o600)
  assert.equal(readFileSync(laid.etcdCafile, 'utf8'), 'text of etcd')
  assert.equal(laid.etcdKeyfile, '')

  await cluster.advance({ seconds: 2 * 3600 + 60 })
  const left = (await cluster.client.list(Secret, { namespace: 'kube-system' })).items.map(({ metadata }) => metadata.name)
  assert.deepEqual(left, [])
  await assert.rejects(downloadCertificates(cluster.client, { dataDir: second, certificateKey }, nodeFiles), /init phase upload-certs/)
})

test('control planes share what they were told, but not what is of one machine', () => {
  const options = {
    ...usualOptions(),
    store: 'etcd://10.0.0.1:2379',
    listen: '10.0.0.1',
    dataDir: '/here',
    auditPolicyFile: '/etc/audit.yaml',
  }
  assert.deepEqual(sharedOptions({ ...options, featureGates: ['A=true'] }), { store: 'etcd://10.0.0.1:2379', featureGates: ['A=true'] })
})
