/** Namespace, prefix, suffix, labels, annotations, images, replicas. */
import type { ApiObject } from '#cli/call.ts'
import { type Kustomization, placesAt } from './kustomization.ts'
import type { Item } from './references.ts'

const clusterWide = new Set(
  'Namespace Node PersistentVolume ClusterRole ClusterRoleBinding CustomResourceDefinition StorageClass PriorityClass IngressClass RuntimeClass CSIDriver CSINode MutatingWebhookConfiguration ValidatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding APIService VolumeAttachment PodSecurityPolicy CertificateSigningRequest FlowSchema PriorityLevelConfiguration'.split(
    ' ',
  ),
)
const unnamed = new Set(['CustomResourceDefinition', 'APIService', 'Namespace'])

export function transformed(kustomization: Kustomization, items: readonly Item[]): Item[] {
  const {
    namespace,
    namePrefix = '',
    nameSuffix = '',
    commonLabels,
    labels = [],
    commonAnnotations,
    images = [],
    replicas = [],
  } = kustomization
  for (const item of items) {
    const { object } = item
    object.metadata ??= {}
    if (namespace !== undefined) setNamespace(item, namespace)
    if ((namePrefix !== '' || nameSuffix !== '') && !unnamed.has(item.kind)) {
      object.metadata.name = `${namePrefix}${object.metadata.name ?? ''}${nameSuffix}`
      item.formerNames.push(object.metadata.name)
    }
    for (const { pairs, includeSelectors = false, includeTemplates = false } of labels)
      addLabels(object, pairs, includeSelectors, includeSelectors || includeTemplates)
    if (commonLabels !== undefined) addLabels(object, commonLabels, true, true)
    if (commonAnnotations !== undefined) {
      object.metadata.annotations = { ...object.metadata.annotations, ...commonAnnotations }
      for (const template of templatesOf(object))
        template.metadata = { ...template.metadata, annotations: { ...template.metadata?.annotations, ...commonAnnotations } }
    }
    for (const image of images) setImages(object, image)
    for (const { name, count } of replicas) {
      const spec = object['spec'] as { replicas?: number } | undefined
      if (
        item.formerNames.includes(name) &&
        ['Deployment', 'ReplicaSet', 'StatefulSet', 'ReplicationController'].includes(item.kind) &&
        spec !== undefined
      )
        spec.replicas = count
    }
  }
  return [...items]
}

function setNamespace({ object, kind }: Item, namespace: string): void {
  object.metadata ??= {}
  if (kind === 'Namespace') object.metadata.name = namespace
  else if (!clusterWide.has(kind)) object.metadata.namespace = namespace
  if (kind !== 'RoleBinding' && kind !== 'ClusterRoleBinding') return
  for (const subject of (object['subjects'] as { kind?: string; name?: string; namespace?: string }[] | undefined) ?? [])
    if (subject.kind === 'ServiceAccount' && (subject.name === 'default' || kind === 'RoleBinding' || subject.namespace !== undefined))
      subject.namespace = namespace
}

type Template = { metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> } }

function templatesOf(object: ApiObject): Template[] {
  return ['spec/template', 'spec/jobTemplate', 'spec/jobTemplate/spec/template']
    .flatMap((path) => placesAt(object, path.split('/')))
    .map(({ holder, key }) => (holder as Record<string, Template>)[key as string] as Template)
    .filter((template) => typeof template === 'object')
}

function addLabels(object: ApiObject, pairs: Readonly<Record<string, string>>, intoSelectors: boolean, intoTemplates: boolean): void {
  object.metadata = { ...object.metadata, labels: { ...object.metadata?.labels, ...pairs } }
  if (intoTemplates)
    for (const template of templatesOf(object))
      template.metadata = { ...template.metadata, labels: { ...template.metadata?.labels, ...pairs } }
  if (!intoSelectors) return
  const spec = object['spec'] as { selector?: Record<string, unknown>; podSelector?: Record<string, unknown> } | undefined
  const merge = (holder: Record<string, unknown>, key: string) => {
    holder[key] = { ...(holder[key] as object | undefined), ...pairs }
  }
  if (spec === undefined) return
  if (object.kind === 'Service' || object.kind === 'ReplicationController') {
    if (spec.selector !== undefined) merge(spec as Record<string, unknown>, 'selector')
  } else if (['Deployment', 'ReplicaSet', 'StatefulSet', 'DaemonSet'].includes(object.kind ?? '')) {
    spec.selector ??= {}
    merge(spec.selector, 'matchLabels')
  } else if (['Job', 'PodDisruptionBudget'].includes(object.kind ?? '') && spec.selector?.['matchLabels'] !== undefined)
    merge(spec.selector, 'matchLabels')
  else if (object.kind === 'NetworkPolicy' && spec.podSelector?.['matchLabels'] !== undefined) merge(spec.podSelector, 'matchLabels')
}

/** Wherever something has containers. */
function setImages(value: unknown, image: { name: string; newName?: string; newTag?: string; digest?: string }): void {
  if (Array.isArray(value)) for (const item of value) setImages(item, image)
  else if (typeof value === 'object' && value !== null) {
    for (const [key, inside] of Object.entries(value)) {
      if ((key === 'containers' || key === 'initContainers' || key === 'ephemeralContainers') && Array.isArray(inside)) {
        for (const container of inside as { image?: string }[])
          if (container.image !== undefined) container.image = changedImage(container.image, image)
      } else setImages(inside, image)
    }
  }
}

function changedImage(
  text: string,
  { name, newName, newTag, digest }: { name: string; newName?: string; newTag?: string; digest?: string },
): string {
  const at = text.indexOf('@')
  const bare = at < 0 ? text : text.slice(0, at)
  const colon = bare.lastIndexOf(':')
  const hasTag = colon > bare.lastIndexOf('/')
  const base = hasTag ? bare.slice(0, colon) : bare
  if (base !== name) return text
  const suffix = digest ? `@${digest}` : newTag ? `:${newTag}` : `${hasTag ? bare.slice(colon) : ''}${at < 0 ? '' : text.slice(at)}`
  return `${newName ?? base}${suffix}`
}
