import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { issueIdentity, newAuthority } from '#apiserver/pki/authority.ts'
import { nodeIdentities } from '#apiserver/pki/identities.ts'
import { writeKubeconfig } from '#apiserver/pki/kubeconfig.ts'
import { nodeFiles as files } from '#base/files.ts'
import { seededRandom } from '#base/random.ts'
import { certificateEnd } from '#cmd/join/certificate-end.ts'

test('a certificate that ended while its machine was off is noticed, with the time', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tn-certificate-end-'))
  try {
    const startMs = Date.parse('2026-01-01T00:00:00Z')
    const { authority } = newAuthority('ca', startMs, seededRandom(1))
    const [identity = assert.fail()] = nodeIdentities('far', [])
    const credential = issueIdentity(identity, authority, startMs, seededRandom(2))
    const path = join(directory, 'kubelet.kubeconfig')
    await writeKubeconfig(files, path, { name: 'a', server: 'https://127.0.0.1:1', authorityPem: authority.certificatePem, credential })
    assert.equal(await certificateEnd(path, { files, nowMs: startMs }), undefined)
    const end = await certificateEnd(path, { files, nowMs: startMs + 10 * 366 * 86_400_000 })
    assert.equal(Date.parse(end ?? ''), credential.notAfterMs)
  } finally {
    rmSync(directory, { recursive: true })
  }
})
