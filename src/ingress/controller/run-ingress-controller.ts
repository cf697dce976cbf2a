import { isAlreadyExists, isConflict, isNotFound } from '#api/meta/server-response.ts'
import { Ingress, IngressClass } from '#api/networking/v1/kinds.gen.ts'
import type { V1Ingress, V1IngressClass } from '#api/networking/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import { inTurns } from '#base/in-turns.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { EventRecorder } from '#client/events/event-recorder.ts'
import { Informer } from '#client/informer/informer.ts'
import { keyOf, splitKey } from '#client/informer/object-store.ts'
import { WorkQueue } from '#client/work-queue/work-queue.ts'
import { portOf } from '#ingress/controller/backend-of-service.ts'
import {
  defaultClassAnnotation,
  defaultClassName,
  ingressController,
  isDefaultClass,
  isOurIngress,
} from '#ingress/controller/ingress-classes.ts'
import { ingressComplaints, ingressSource } from '#ingress/controller/ingress-source.ts'
import type { WantedListener } from '#ingress/controller/listeners.ts'
import type { ProxyControl } from '#ingress/controller/proxy-control.ts'

export type IngressControllerOptions = {
  client: Client
  clock: Clock
  random: Random
  logger: Logger
  control: ProxyControl
  httpPort: number
  httpsPort: number
  /** Where clients find the proxy: what the status of an Ingress says. */
  addresses: readonly string[]
}

const statusWriters = 4
/** Of one turn of the event loop. */
const turnMs = 10

/** Serves every Ingress of our classes, until stopped. Resolves when all that are there have been looked at once. */
export async function runIngressController(options: IngressControllerOptions): Promise<{ stop(): Promise<void> }> {
  const { client, clock, random, logger, control, addresses } = options
  const shared = { client, clock, random, logger, forgetsManagers: true }
  const classes = new Informer<V1IngressClass>({ ...shared, kind: IngressClass })
  const ingresses = new Informer<V1Ingress>({ ...shared, kind: Ingress })
  const events = new EventRecorder({ client, clock, logger, component: 'ingress-controller' })
  const queue = new WorkQueue({ clock })
  const served = new Set<string>()
  /** What was last complained of, by ingress: said once. */
  const lastWarnings = new Map<string, string>()
  const sourceKey = (key: string) => `Ingress ${key}`
  const listeners: WantedListener[] = [
    { listener: 'http', port: options.httpPort, shownPort: 80, isSecure: false },
    { listener: 'https', port: options.httpsPort, shownPort: 443, isSecure: true },
  ]

  const take = (ingress: V1Ingress) => {
    const key = keyOf(ingress)
    if (isOurIngress(ingress, classes.list())) {
      served.add(key)
      control.set(sourceKey(key), () => ingressSource(ingress))
    } else if (served.delete(key)) control.delete(sourceKey(key))
    control.listenFor('ingress', served.size > 0 ? listeners : [])
    queue.add(key)
  }
  const drop = (ingress: V1Ingress) => {
    const key = keyOf(ingress)
    if (served.delete(key)) control.delete(sourceKey(key))
    control.listenFor('ingress', served.size > 0 ? listeners : [])
    lastWarnings.delete(key)
  }
  const takeAll = () => {
    for (const ingress of ingresses.list()) take(ingress)
  }

  const complain = async (ingress: V1Ingress, key: string) => {
    if (!control.isSynced) return
    const complaints = ingressComplaints(await inTurns(ingressSource(ingress), clock), {
      service: (namespace, name) => {
        const service = control.service(namespace, name)
        return service && { hasPort: (port) => portOf(service, port) !== undefined }
      },
      hasCertificate: (secret) => control.certificate(secret) !== undefined,
    })
    for (const { listener } of listeners) {
      const problem = control.problemOf(listener)
      if (problem !== undefined && (listener === 'http' || (ingress.spec.tls ?? []).length > 0))
        complaints.push({ reason: 'PortUnavailable', message: problem })
    }
    const text = JSON.stringify(complaints)
    if (text === (lastWarnings.get(key) ?? '[]')) return
    lastWarnings.set(key, text)
    for (const { reason, message } of complaints) events.warning(Ingress, ingress, reason, message)
  }

  const wantedStatus = () => (control.isOpen('http') ? addresses.map((ip) => ({ ip })) : [])
  const settle = async (key: string) => {
    const { namespace, name } = splitKey(key)
    const ingress = ingresses.get(namespace, name)
    if (ingress === undefined || !served.has(key) || ingress.metadata.deletionTimestamp !== undefined) return
    await complain(ingress, key)
    const wanted = wantedStatus()
    if (wanted.length === 0 || JSON.stringify(ingress.status?.loadBalancer?.ingress ?? []) === JSON.stringify(wanted)) return
    const status = { ...ingress.status, loadBalancer: { ingress: wanted } }
    await client.patch(Ingress, { namespace, name }, { status }, { type: 'merge', subresource: 'status' })
    events.normal(Ingress, ingress, 'Sync', 'Scheduled for sync')
  }
  const work = async () => {
    for (let key = await queue.get(); key !== undefined; key = await queue.get()) {
      try {
        // Where nothing is to be written promises alone would keep everybody else waiting.
        if (clock.heldMs() > turnMs) await new Promise<void>((resolve) => clock.soon(resolve))
        await settle(key)
        queue.forget(key)
      } catch (error) {
        if (!isNotFound(error) && !isConflict(error))
          logger.warn('failed to write the status of an Ingress', { ingress: key, error: errorMessage(error) })
        if (!isNotFound(error)) queue.addRateLimited(key)
      } finally {
        queue.done(key)
      }
    }
  }

  control.onReferenceChange((changed) => {
    if (changed === undefined) for (const key of served) queue.add(key)
    else
      for (const asker of changed.askers) {
        const key = asker.startsWith(sourceKey('')) ? asker.slice(sourceKey('').length) : ''
        if (served.has(key)) queue.add(key)
      }
  })
  classes.start()
  ingresses.start()
  await Promise.all([classes.synced, ingresses.synced])
  await makeDefaultClass(client, classes.list(), logger)
  ingresses.addHandler({ onAdd: take, onUpdate: take, onDelete: drop })
  classes.addHandler({ onAdd: takeAll, onUpdate: takeAll, onDelete: takeAll })
  const workers = Array.from({ length: statusWriters }, work)
  return {
    async stop() {
      classes.stop()
      ingresses.stop()
      queue.shutDown()
      await Promise.all(workers)
      await events[Symbol.asyncDispose]()
    },
  }
}

/** Once: whoever changes or deletes it has the last word until the next start. Another default class stays the only one. */
async function makeDefaultClass(client: Client, classes: readonly V1IngressClass[], logger: Logger): Promise<void> {
  if (classes.some(({ metadata }) => metadata.name === defaultClassName)) return
  const annotations = classes.some(isDefaultClass) ? {} : { [defaultClassAnnotation]: 'true' }
  try {
    await client.create(IngressClass, { metadata: { name: defaultClassName, annotations }, spec: { controller: ingressController } })
  } catch (error) {
    if (!isAlreadyExists(error))
      logger.warn('failed to create IngressClass', { ingressClass: defaultClassName, error: errorMessage(error) })
  }
}
