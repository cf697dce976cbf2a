/** Puts what a cluster needs into the store, and keeps it there. */

import type { FrontProxy } from '#apiserver/access/front-proxy.ts'
import { addonsRbacObjects } from '#apiserver/authz/rbac/addons-roles.ts'
import { rbacObjects } from '#apiserver/authz/rbac/gated-roles.ts'
import { ownRbacObjects } from '#apiserver/authz/rbac/own-roles.ts'
import type { ClusterRole } from '#apiserver/authz/rbac/rbac-objects.ts'
import { aggregateClusterRoles } from '#apiserver/bootstrap/aggregate-cluster-roles.ts'
import { ensureAuthenticationConfig } from '#apiserver/bootstrap/authentication-config.ts'
import {
  type BootstrapEntry,
  type BootstrapFacts,
  bootstrapEntries,
  kubernetesEndpoints,
  kubernetesService,
  namespaceEntries,
  tokenTracking,
} from '#apiserver/bootstrap/bootstrap-objects.ts'
import { besideOthers, type Company, createIfMissing, reconcileRbac, replaceIfDifferent } from '#apiserver/bootstrap/ensure-objects.ts'
import { defaultFlowControl } from '#apiserver/bootstrap/flow-control-defaults.ts'
import { keepIdentityLease } from '#apiserver/bootstrap/identity-lease.ts'
import { keepLocalApiServices } from '#apiserver/bootstrap/local-api-services.ts'
import { type ServerAddress, shareAddress } from '#apiserver/bootstrap/shared-addresses.ts'
import type { ApiServer } from '#apiserver/server.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Store } from '#store/store.ts'

export type BootstrapOptions = BootstrapFacts &
  Company & {
    store: Store
    random: Random
    isEnabled(gate: string): boolean
    logger: Logger
    aggregatesClusterRoles: boolean
    /** PEM, of the authority of client certificates; changes as it is renewed. */
    clientCa(): string
    /** Whose headers are believed. */
    frontProxy: FrontProxy
    /** Of this machine; absent: this server does not say that it is there. */
    hostName?: string | undefined
    /** By which other API servers reach this one, `host:port`, where it is not the advertised address. */
    peerAddress?: string | undefined
    /** Called with all that share the store, whenever that changes. */
    onAddresses?(addresses: readonly ServerAddress[]): void
  }

const retryServiceMs = 10_000

export async function bootstrap(server: ApiServer, options: BootstrapOptions): Promise<AsyncDisposable> {
  const createAll = (entries: readonly BootstrapEntry[]) => inParallel(options, entries, (entry) => createIfMissing(server, entry))
  const background = new AsyncDisposableStack()
  await createAll(namespaceEntries())
  server.boot.done('namespaces')
  await Promise.all([
    inParallel(options, [...rbacObjects(options.isEnabled), ...ownRbacObjects(), ...addonsRbacObjects()], ({ kind, object }) =>
      reconcileRbac(server, kind, object as unknown as ClusterRole),
    ),
    createAll([...bootstrapEntries(options), tokenTracking(options.clock.now()), ...defaultFlowControl()]),
    besideOthers(options, () => ensureAuthenticationConfig(server, options.clientCa(), options.frontProxy)),
    keepLocalApiServices(server, options).then((keeping) => background.use(keeping)),
  ])
  server.boot.done('objects')
  background.use(keepAuthenticationConfig(server, options))
  background.use(await makeService(server, options))
  // A machine without any address but loopback has nothing to tell.
  if (options.advertiseAddress !== '') await publishAddress(server, options, background)
  server.boot.done('service')
  if (options.hostName !== undefined) background.use(await keepIdentityLease(server, { ...options, hostName: options.hostName }))
  server.boot.done('identity')
  if (options.aggregatesClusterRoles) background.use(await aggregateClusterRoles(server, options.logger))
  return background
}

const recheckConfigMs = 60_000

/** Authorities are renewed, and the config map may be deleted. */
function keepAuthenticationConfig(server: ApiServer, { clock, logger, clientCa, frontProxy }: BootstrapOptions): Disposable {
  return clock.every(recheckConfigMs, () => {
    ensureAuthenticationConfig(server, clientCa(), frontProxy).catch((error: unknown) =>
      logger.warn('failed to write ConfigMap extension-apiserver-authentication', { error: String(error) }),
    )
  })
}

/** Where another server has died between taking the address and storing the service, the address is free again only after a while. */
async function makeService(server: ApiServer, options: BootstrapOptions): Promise<Disposable> {
  const { clock, sharesStore, logger } = options
  const ensure = () => createIfMissing(server, { group: '', resource: 'services', object: kubernetesService(options) })
  const retrying = new DisposableStack()
  try {
    await besideOthers(options, ensure)
  } catch (error) {
    if (!sharesStore) throw error
    const report = (reason: unknown) => logger.warn('failed to create the kubernetes service', { error: String(reason) })
    report(error)
    const timer = retrying.use(clock.every(retryServiceMs, () => void ensure().then(() => timer.cancel(), report)))
  }
  return retrying
}

async function publishAddress(server: ApiServer, options: BootstrapOptions, background: AsyncDisposableStack): Promise<void> {
  const { advertiseAddress: address, securePort: port, peerAddress: peer, store, clock, logger } = options
  const publish = (addresses: readonly ServerAddress[]) => {
    options.onAddresses?.(addresses)
    return inParallel(options, kubernetesEndpoints(addresses), (entry) => replaceIfDifferent(server, entry))
  }
  const { leaving } = server
  if (options.sharesStore) background.use(await shareAddress({ store, clock, logger, address, port, peer, leaving, publish }))
  else await publish([{ address, port }])
}

async function inParallel<T>(company: Company, items: readonly T[], ensure: (item: T) => Promise<void>): Promise<void> {
  await Promise.all(items.map((item) => besideOthers(company, () => ensure(item))))
}
