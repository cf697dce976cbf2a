import { renderKubeconfig } from '#apiserver/pki/kubeconfig.ts'
import type { Clock, Timer } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import { type HttpClientOptions, nodeHttpClient } from '#base/http-client.ts'
import type { Stage } from '#base/lifecycle.ts'
import type { Logger } from '#base/log.ts'
import { nodeProcesses } from '#base/processes.ts'
import type { Random } from '#base/random.ts'
import { renewalTimeMs } from '#client/certificates/renewal-time.ts'
import { type IssuedCertificate, requestNodeCertificate } from '#client/certificates/request-certificate.ts'
import { Client } from '#client/client.ts'
import { connect } from '#client/kubeconfig/connect.ts'
import { Kubeconfig, type KubeconfigContext } from '#client/kubeconfig/kubeconfig.ts'
import type { Transport } from '#client/transport.ts'

export type NodeClientPlace = { kubeconfig: string; nodeName: string; userAgent: string }
/** A way to the API server, and the certificate that is shown there. */
export type OpenedWay = { transport: Transport; certificatePem: string | undefined }
type Seams = { clock: Clock; random: Random; files: Files; logger: Logger }

const retryMs = 60_000
/** Timers stand still while a machine sleeps, certificates age on: look again this often. */
const longestSleepMs = 3_600_000

/** Speaks for the node with the certificate in the kubeconfig, which is renewed in time: new connections show the new one. */
export async function openNodeClient(
  stage: Stage,
  place: NodeClientPlace,
  seams: Seams,
  openWay: (context: KubeconfigContext) => Promise<OpenedWay> = wayByHttp(stage, seams),
): Promise<Client> {
  const { clock, random, files, logger } = seams
  let timer: Timer | undefined
  let isOver = false
  const open = async (): Promise<{ transport: Transport; renewAtMs: number | undefined }> => {
    const { transport, certificatePem } = await openWay(await (await Kubeconfig.read(files, place.kubeconfig)).context(undefined))
    if (certificatePem === undefined) return { transport, renewAtMs: undefined }
    return { transport, renewAtMs: renewalTimeMs(certificatePem, random) }
  }
  let current = await open()
  const client = new Client({ transport: { send: (request) => current.transport.send(request) }, userAgent: place.userAgent })
  const renew = async () => {
    if (current.renewAtMs !== undefined && clock.now() >= current.renewAtMs) {
      const issued = await requestNodeCertificate(client, { nodeName: place.nodeName, clock, signal: stage.signal })
      await writeNodeKubeconfig(files, place.kubeconfig, issued)
      current = await open()
      logger.info('certificate of the kubelet was rotated', { node: place.nodeName })
    }
    schedule()
  }
  const schedule = (delayMs = Math.max((current.renewAtMs ?? Number.POSITIVE_INFINITY) - clock.now(), 0)) => {
    if (isOver) return
    timer = clock.after(Math.min(delayMs, longestSleepMs), () => {
      renew().catch((error: unknown) => {
        logger.error('failed to rotate the certificate of the kubelet', { node: place.nodeName, error: String(error) })
        schedule(retryMs)
      })
    })
  }
  schedule()
  stage.defer(() => {
    isOver = true
    timer?.cancel()
  })
  return client
}

function wayByHttp(stage: Stage, { files, clock }: Seams): (context: KubeconfigContext) => Promise<OpenedWay> {
  return async (context) => {
    const http = (options: HttpClientOptions) => stage.use(nodeHttpClient(options))
    return {
      transport: await connect(context, { files, processes: nodeProcesses, clock, http }),
      certificatePem: context.user.certificate,
    }
  }
}

/** The cluster of the kubeconfig `from`, or of the one that is there, with another certificate. */
export async function writeNodeKubeconfig(files: Files, path: string, issued: IssuedCertificate, from = path): Promise<void> {
  const { cluster } = await (await Kubeconfig.read(files, from)).context(undefined)
  const authorityPem = cluster.authority ?? ''
  const credential = { ...issued, notBeforeMs: 0, notAfterMs: 0 }
  await files.write(path, renderKubeconfig({ name: 'default-auth', server: cluster.server, authorityPem, credential }))
}
