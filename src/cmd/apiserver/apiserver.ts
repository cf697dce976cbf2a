import { onlyPlugins } from '#apiserver/admission/plugins.ts'
import { effectiveApiServerGates } from '#apiserver/effective-gates.ts'
import { joinedHostPort } from '#apiserver/node-connections/node-connections.ts'
import { type RunningApiServer, runApiServer } from '#apiserver/run-api-server.ts'
import { systemClock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { nodeFiles } from '#base/files.ts'
import { grpcChannel } from '#base/grpc.ts'
import { nodeHttpClient } from '#base/http-client.ts'
import { giveBackIdleMemory } from '#base/idle-memory.ts'
import { firstAddress, parseRange } from '#base/ip-range.ts'
import { Lifecycle, processSignals, runUntilSignal, type Stage } from '#base/lifecycle.ts'
import type { Logger } from '#base/log.ts'
import { thisMachine, thisProcess } from '#base/machine.ts'
import { systemRandom } from '#base/random.ts'
import { FileKeys } from '#cmd/apiserver/file-keys.ts'
import type { ApiserverFlags } from '#cmd/apiserver/flags.ts'
import { servingFiles } from '#cmd/apiserver/serving-files.ts'
import { etcdTls } from '#cmd/up/open-store.ts'
import { kubernetesVersionInfo } from '#cmd/version.ts'
import { sayGatesWithoutEffect } from '#cmd/without-effect.ts'
import { openEtcdStore } from '#store/etcd/etcd-store.ts'
import type { Store } from '#store/store.ts'

const seams = { clock: systemClock, random: systemRandom, files: nodeFiles }
const usualServiceRange = '10.0.0.0/24'
/** How long requests that are being served may take at the end. */
const drainMs = 10_000
const everywhere: ReadonlySet<string> = new Set(['0.0.0.0', '::'])

/** Runs until a signal ends it. */
export async function runApiserverCommand(flags: ApiserverFlags, logger: Logger): Promise<void> {
  checkFlags(flags)
  sayGatesWithoutEffect(ownGates(flags), effectiveApiServerGates, logger)
  const lifecycle = new Lifecycle({ clock: systemClock, logger, drainMs: drainMs + flags.shutdownDelayDuration })
  await runUntilSignal(lifecycle, processSignals, async () => {
    const store = await lifecycle.stage('store', async (stage) => stageStore(stage, flags, logger))
    const running = await lifecycle.stage('apiserver', (stage) => serve(stage, store, flags, logger))
    giveBackIdleMemory(systemClock)
    thisProcess.print(`The API server is ready on port ${running.listener?.port}`)
  })
  // Watches that are still open may not keep us waiting.
  thisProcess.exit(0)
}

/** A component's gates may be named with it; those of others are none of ours. */
const ownGates = ({ featureGates }: Pick<ApiserverFlags, 'featureGates'>): string[] =>
  featureGates.filter((gate) => !/^(?!kube:)[^=]*:/.test(gate)).map((gate) => gate.replace(/^kube:/, ''))

/** In upstream's words. */
function checkFlags(flags: ApiserverFlags): void {
  if (flags.etcdServers.length === 0) throw new Error('--etcd-servers must be specified')
  if (flags.serviceAccountIssuer.length === 0 || flags.serviceAccountSigningKeyFile === '') {
    throw new Error('--service-account-signing-key-file and --service-account-issuer are required flags')
  }
  if ((flags.kubeletClientCertificate === '') !== (flags.kubeletClientKey === ''))
    throw new Error('--kubelet-client-certificate and --kubelet-client-key must be specified together')
  if (flags.admissionControl.length > 0 && flags.enableAdmissionPlugins.length + flags.disableAdmissionPlugins.length > 0)
    throw new Error('admission-control and enable-admission-plugins/disable-admission-plugins flags are mutually exclusive')
}

async function stageStore(stage: Stage, flags: ApiserverFlags, logger: Logger): Promise<Store> {
  const store = await openEtcdStore({
    clock: systemClock,
    logger: logger.with({ component: 'store' }),
    endpoints: [...flags.etcdServers],
    compactEveryMs: flags.etcdCompactionInterval || Number.POSITIVE_INFINITY,
    ...(await etcdTls(flags, nodeFiles)),
  })
  stage.defer(() => store.close())
  return store
}

async function serve(stage: Stage, store: Store, flags: ApiserverFlags, logger: Logger): Promise<RunningApiServer> {
  const serviceCidrs = (flags.serviceClusterIpRange || usualServiceRange).split(',')
  const serviceIp = firstAddress(parseRange(serviceCidrs[0] ?? ''))
  const [ownAddress = '127.0.0.1'] = thisMachine().addresses()
  const advertised = flags.advertiseAddress || (everywhere.has(flags.bindAddress) ? ownAddress : flags.bindAddress)
  const serving = await servingFiles(
    {
      ...flags,
      dnsNames: ['kubernetes', 'kubernetes.default', 'kubernetes.default.svc', 'localhost', thisMachine().hostname],
      ipAddresses: [...new Set(['127.0.0.1', '::1', advertised, serviceIp])],
    },
    seams,
  )
  const keys = stage.use(
    await FileKeys.open(
      {
        serving,
        clientCa: flags.clientCaFile,
        kubeletClient: { certificate: flags.kubeletClientCertificate, key: flags.kubeletClientKey },
        serviceAccountSigningKey: flags.serviceAccountSigningKeyFile,
      },
      { ...seams, logger },
    ),
  )
  const { kubeletCertificateAuthority: authorityFile, admissionControl } = flags
  const authority = authorityFile === '' ? undefined : await nodeFiles.readText(authorityFile)
  const peerAuthority = flags.peerCaFile === '' ? undefined : await nodeFiles.readText(flags.peerCaFile)
  const only = admissionControl.length === 0 ? undefined : onlyPlugins(admissionControl)
  const [from = 0, to = 0] = flags.serviceNodePortRange.split('-').map(Number)
  const running = await runApiServer({
    ...{ store, keys, logger, clock: systemClock, random: systemRandom },
    listen: { host: flags.bindAddress, port: flags.securePort },
    advertiseAddress: advertised,
    serviceCidrs,
    kubernetesServiceIp: serviceIp,
    nodePortRange: [from, to],
    featureGates: ownGates(flags),
    runtimeConfig: flags.runtimeConfig,
    servesLegacyApis: flags.legacyApis,
    access: {
      ...flags,
      authorizationMode: flags.authorizationMode.length > 0 ? flags.authorizationMode : ['AlwaysAllow'],
      ...(only === undefined ? {} : { enableAdmissionPlugins: only.enable, disableAdmissionPlugins: only.disable }),
    },
    frontProxy: flags,
    enableAggregatorRouting: flags.enableAggregatorRouting,
    enableBootstrapTokenAuth: flags.enableBootstrapTokenAuth,
    eventTtlSeconds: flags.eventTtl / 1000,
    outside: { files: nodeFiles, http: nodeHttpClient, connect: grpcChannel },
    insecurePort: flags.insecurePort,
    requests: flags,
    version: kubernetesVersionInfo(),
    sharesStore: true,
    peerAuthority,
    peerAddress: peerAddressOf(flags, advertised),
    hostName: thisMachine().hostname,
    nodeConnections: {
      ...defined({ kubeletCertificateAuthority: authority }),
      kubeletPreferredAddressTypes: flags.kubeletPreferredAddressTypes,
    },
    aggregatesClusterRoles: false,
  })
  stage.defer(() => running.stop())
  stage.onDrain(async () => {
    running.server.leave()
    if (flags.shutdownDelayDuration > 0) await systemClock.sleep(flags.shutdownDelayDuration)
    const isOver = new AbortController()
    await running.drain(systemClock.sleep(drainMs / 2, isOver.signal).catch(() => {}))
    isOver.abort()
  })
  return running
}

function peerAddressOf({ peerAdvertiseIp, peerAdvertisePort, securePort }: ApiserverFlags, advertised: string): string | undefined {
  if (peerAdvertiseIp === '' && peerAdvertisePort === '') return undefined
  return joinedHostPort(peerAdvertiseIp || advertised, peerAdvertisePort || String(securePort))
}
