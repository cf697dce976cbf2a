import { labelSelectorFrom } from '#api/meta/selector.ts'
import { type ConditionState, no, yes } from '#ingress/gateway/conditions.ts'
import type { EvaluatedListener } from '#ingress/gateway/evaluate-listeners.ts'
import type { GatewayObjects } from '#ingress/gateway/gateway-objects.ts'
import { commonHosts } from '#ingress/gateway/hostnames.ts'
import type { Gateway, GatewayListener, ParentReference, RouteOf } from '#ingress/gateway/kinds.ts'
import type { RouteKind } from '#ingress/gateway/route-rules.ts'

export type Attachment = { readonly evaluated: EvaluatedListener; readonly hosts: readonly string[] }

/** The listeners of a Gateway that a route is attached to by one of its references, and what is said of it. */
export function attachRoute(
  kind: RouteKind,
  route: RouteOf<unknown>,
  { sectionName, port }: ParentReference,
  gateway: Gateway,
  listeners: readonly EvaluatedListener[],
  world: GatewayObjects,
): { attachments: Attachment[]; accepted: ConditionState } {
  const refused = (reason: string, message: string) => ({ attachments: [], accepted: no('Accepted', reason, message) })
  const isMeant = ({ name, port: at }: GatewayListener) => (!sectionName || name === sectionName) && (port === undefined || at === port)
  const meant = listeners.filter(({ listener }) => isMeant(listener))
  if (meant.length === 0) return refused('NoMatchingParent', 'no listener of the Gateway is meant')
  const namespace = route.metadata.namespace ?? ''
  const allowing = meant.filter(({ listener, kinds }) => kinds.includes(kind) && takesNamespace(listener, namespace, gateway, world))
  if (allowing.length === 0) return refused('NotAllowedByListeners', 'no listener allows this route')
  const attachments = allowing
    .map((evaluated) => ({ evaluated, hosts: commonHosts(evaluated.listener.hostname, route.spec.hostnames) }))
    .filter(({ hosts }) => hosts.length > 0)
  if (attachments.length === 0) return refused('NoMatchingListenerHostname', 'no listener has a hostname of this route')
  return { attachments, accepted: yes('Accepted', 'Accepted', 'Route is accepted') }
}

function takesNamespace({ allowedRoutes }: GatewayListener, namespace: string, gateway: Gateway, world: GatewayObjects): boolean {
  const { from = 'Same', selector } = allowedRoutes?.namespaces ?? {}
  if (from === 'All') return true
  if (from === 'Same') return namespace === gateway.metadata.namespace
  if (from !== 'Selector') return false
  try {
    return labelSelectorFrom(selector).matches(world.namespace(namespace)?.metadata.labels ?? {})
  } catch {
    return false
  }
}
