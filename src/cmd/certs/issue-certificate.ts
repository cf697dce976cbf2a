import { join } from 'node:path'
import { issueIdentity } from '#apiserver/pki/authority.ts'
import { writeKubeconfig } from '#apiserver/pki/kubeconfig.ts'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { thisProcess } from '#base/machine.ts'
import type { OptionValues } from '#base/options.ts'
import { systemRandom } from '#base/random.ts'
import { keysIn } from '#cmd/certs/certs.ts'
import { clientSubject } from '#cmd/certs/client-subject.ts'
import type { issueOptions } from '#cmd/certs/command.ts'
import { contextOfCluster } from '#cmd/cluster-names.ts'
import { runningCluster } from '#cmd/running/running-cluster.ts'

const usualServer = 'https://127.0.0.1:6443'

/** Nobody renews it: it belongs to whoever it is handed to. */
export async function issueClientCertificate(
  who: string,
  name: string | undefined,
  options: OptionValues<typeof issueOptions>,
): Promise<void> {
  const { dataDir, out, groups, duration } = options
  const { file, subject } = clientSubject(who, name, groups)
  using keys = await keysIn(dataDir)
  const authority = keys.authority('ca')
  const identity = { name: file, signer: 'ca' as const, subject, usages: ['clientAuth' as const] }
  const credential = issueIdentity(identity, authority, systemClock.now(), systemRandom, duration)
  const server = options.server || ((await runningCluster(dataDir))?.url ?? usualServer)
  await nodeFiles.makeDirectory(out)
  await nodeFiles.write(join(out, `${file}.key`), credential.privateKeyPem, { mode: 0o600 })
  await nodeFiles.write(join(out, `${file}.crt`), credential.certificatePem, { mode: 0o644 })
  const context = `${file}@${contextOfCluster(dataDir)}`
  const kubeconfig = join(out, `${file}.kubeconfig`)
  await writeKubeconfig(nodeFiles, kubeconfig, { name: context, server, authorityPem: authority.certificatePem, credential })
  const until = new Date(credential.notAfterMs).toISOString().slice(0, 10)
  thisProcess.print(`${subject.commonName} is known by ${kubeconfig} until ${until}; what it may do is said by roles and bindings`)
}
