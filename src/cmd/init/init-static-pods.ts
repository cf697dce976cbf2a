/** `init --control-plane-as static-pods`: a new cluster whose first control plane the kubelet of this machine runs. */
import { nodeFiles } from '#base/files.ts'
import { thisProcess } from '#base/machine.ts'
import { runStaticPods } from '#cmd/control-plane/run-static-pods.ts'
import { joinCommand, markControlPlane, offerCertificates, offerToken, uploadConfig } from '#cmd/init/init.ts'
import type { PhaseOptions } from '#cmd/init/phases.ts'
import { knownServers } from '#cmd/node/node-directory.ts'
import { publishEtcdMembers } from '#cmd/own-etcd/etcd-membership.ts'
import { machineNodeName } from '#cmd/up/cluster-addresses.ts'
import type { UpOptions } from '#cmd/up/options.ts'

const balancerPort = 6444

/** Runs until a signal ends it; its pods, the control plane among them, run on. */
export async function initAsStaticPods(options: UpOptions, init: PhaseOptions): Promise<void> {
  await runStaticPods(options, init, {
    balancerPort,
    others: await knownServers(options.dataDir, machineNodeName(), nodeFiles),
    node: {},
    async tell(client, { url, connection }) {
      const facts = { client, url, options, authorityPem: String(connection.ca ?? ''), staticPods: init }
      await uploadConfig(facts)
      await markControlPlane(client)
      if (options.store === 'etcd') await publishEtcdMembers(client, options.dataDir)
      const token = await offerToken(client, init)
      const certificateKey = init.uploadCerts ? await offerCertificates(facts, init) : undefined
      thisProcess.print(`Other machines join by: ${joinCommand(url, token, facts.authorityPem)}`)
      if (certificateKey !== undefined) thisProcess.print(`and as control planes with: --control-plane --certificate-key ${certificateKey}`)
    },
  })
}
