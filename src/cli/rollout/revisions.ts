/** Earlier states of deployments, daemon sets and stateful sets. */

import type { V1PodTemplateSpec } from '#api/core/v1/types.gen.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { equalJson } from '#api/meta/patch/json-value.ts'
import { labelSelectorFrom } from '#api/meta/selector.ts'
import type { V1LabelSelector } from '#api/meta/v1/types.gen.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import { describePodTemplate } from '#cli/describe/pod-template.ts'
import { TabWriter, type TabWriterOptions } from '#cli/print/tab-writer.ts'
import { type Info, infoPath } from '#cli/resources/info.ts'
import { dryRunOf, lastAppliedName, lastAppliedOf } from '#cli/write-options.ts'
import { podTemplateOf } from './pod-template.ts'

export type Revision = { revision: number; cause: string; template: V1PodTemplateSpec; object: ApiObject }

const revisionName = 'deployment.kubernetes.io/revision'
const causeName = 'kubernetes.io/change-cause'
const historyColumns: TabWriterOptions = { minWidth: 0, padding: 2 }

/** Kinds that have pods, but no history. */
const isWorkload = ({ type }: Info): boolean => ['Job', 'Pod', 'ReplicaSet', 'ReplicationController', 'CronJob'].includes(type.kind)
const dottedKind = ({ type }: Info): string => (type.group === '' ? type.kind : `${type.kind}.${type.group}`)
const noVisitor = ({ type }: Info): string => `no visitor method exists for {${type.group} ${type.kind}}`

export async function revisionsOf(call: Call, info: Info): Promise<Revision[]> {
  if (!['Deployment', 'DaemonSet', 'StatefulSet'].includes(info.type.kind))
    throw new CliError(
      isWorkload(info)
        ? `no history viewer has been implemented for "${info.type.kind}.${info.type.group}"`
        : `error retrieving history for "${dottedKind(info)}", ${noVisitor(info)}`,
    )
  const rest = await call.session.rest
  const spec = info.object['spec'] as { selector?: V1LabelSelector }
  const plural = info.type.kind === 'Deployment' ? 'replicasets' : 'controllerrevisions'
  const list = await rest.json<{ items: (ApiObject & { revision?: number; data?: unknown })[] }>({
    path: `/apis/apps/v1/namespaces/${info.namespace}/${plural}`,
    query: { labelSelector: String(labelSelectorFrom(spec.selector)) },
  })
  const owned = list.items.filter(({ metadata }) =>
    metadata?.ownerReferences?.some(({ uid, controller }) => controller && uid === info.object.metadata?.uid),
  )
  const revisions = owned.map((item): Revision => {
    const cause = item.metadata?.annotations?.[causeName] ?? ''
    if (info.type.kind === 'Deployment') {
      const template = deepCopy(podTemplateOf({ ...item, kind: 'ReplicaSet' }) ?? {}) as V1PodTemplateSpec
      if (cause !== '') template.metadata = { ...template.metadata, annotations: { ...template.metadata?.annotations, [causeName]: cause } }
      return {
        revision: Number(item.metadata?.annotations?.[revisionName] ?? 0),
        cause,
        template,
        object: { apiVersion: 'apps/v1', kind: 'ReplicaSet', ...item },
      }
    }
    const data = item.data as { spec?: { template?: V1PodTemplateSpec } } | undefined
    return {
      revision: item.revision ?? 0,
      cause,
      template: data?.spec?.template ?? ({} as V1PodTemplateSpec),
      object: { apiVersion: 'apps/v1', kind: 'ControllerRevision', ...item },
    }
  })
  return revisions.sort((one, other) => one.revision - other.revision)
}

export async function historyText(call: Call, info: Info, revision: number): Promise<string> {
  const revisions = await revisionsOf(call, info)
  if (revisions.length === 0) return 'No rollout history found.'
  if (revision > 0) {
    const found = revisions.find((each) => each.revision === revision)
    if (found === undefined) throw new CliError('unable to find the specified revision')
    return describePodTemplate(found.template)
  }
  const out = new TabWriter(historyColumns)
  out.row(['REVISION', 'CHANGE-CAUSE'])
  for (const each of revisions) out.row([String(each.revision), each.cause || '<none>'])
  return out.flush()
}

/** What was done. */
export async function rollBack(call: Call, info: Info, toRevision: number): Promise<string> {
  const { host, session } = call
  if (lastAppliedOf(info.object) !== undefined)
    host.complain(
      `Warning: resource ${info.type.plural}/${info.name} was previously managed with 'kubectl apply'. Rolling back will not update the ${lastAppliedName} annotation, which may cause unexpected behavior on future 'kubectl apply' operations. Consider using 'kubectl apply' with your previous configuration file instead.\n`,
    )
  if (toRevision < 0) throw new CliError(`unable to find specified revision ${toRevision} in history`)
  if (!['Deployment', 'DaemonSet', 'StatefulSet'].includes(info.type.kind))
    throw new CliError(
      isWorkload(info)
        ? `no rollbacker has been implemented for "${info.type.kind}.${info.type.group}"`
        : `error retrieving rollbacker for "${dottedKind(info)}", ${noVisitor(info)}`,
    )
  const revisions = await revisionsOf(call, info)
  const isDeployment = info.type.kind === 'Deployment'
  if (!isDeployment && revisions.length <= 1 && toRevision === 0) throw new CliError('no last revision to roll back to')
  if (revisions.length === 0) throw new CliError(`no rollout history found for deployment ${JSON.stringify(info.name)}`)
  const wanted = toRevision > 0 ? revisions.find(({ revision }) => revision === toRevision) : revisions.at(-2)
  if (wanted === undefined)
    throw new CliError(
      toRevision > 0
        ? `unable to find specified revision ${toRevision} in history`
        : isDeployment
          ? `no rollout history found for deployment ${JSON.stringify(info.name)}`
          : 'no last revision to roll back to',
    )
  const dryRun = dryRunOf(call)
  if (dryRun === 'client')
    return `${isDeployment ? '' : 'will roll back to '}${describePodTemplate(withoutCause(wanted.template), { isAligned: false })}`
  if (isDeployment && (info.object['spec'] as { paused?: boolean }).paused)
    throw new CliError("you cannot rollback a paused deployment; resume it first with 'kubectl rollout resume' and try again")
  const template = withoutHash(wanted.template)
  const current = podTemplateOf(info.object)
  if (current !== undefined && equalJson(withoutHash(current), withoutCause(template)))
    return `skipped rollback (current template already matches revision ${toRevision})`
  const rest = await session.rest
  const query = { dryRun: dryRun === 'server' ? 'All' : undefined }
  if (isDeployment) {
    const annotations = { ...ownAnnotations(wanted.object, false), ...ownAnnotations(info.object, true) }
    const body = [
      { op: 'replace', path: '/spec/template', value: withoutCause(template) },
      { op: 'replace', path: '/metadata/annotations', value: annotations },
    ]
    await rest.json({ method: 'PATCH', path: infoPath(info), contentType: 'application/json-patch+json', query, body })
  } else
    await rest.json({
      method: 'PATCH',
      path: infoPath(info),
      contentType: 'application/strategic-merge-patch+json',
      query,
      body: (wanted.object as { data?: unknown }).data,
    })
  return 'rolled back'
}

/** Those that say something of the object itself, or all others. */
function ownAnnotations(object: ApiObject, areOwn: boolean): Record<string, string> {
  const skipped = [
    'deployment.kubernetes.io/revision',
    'deployment.kubernetes.io/revision-history',
    'deployment.kubernetes.io/desired-replicas',
    'deployment.kubernetes.io/max-replicas',
    'deprecated.deployment.rollback.to',
    lastAppliedName,
  ]
  return Object.fromEntries(Object.entries(object.metadata?.annotations ?? {}).filter(([key]) => skipped.includes(key) === areOwn))
}

function withoutHash(template: V1PodTemplateSpec): V1PodTemplateSpec {
  const { 'pod-template-hash': _hash, ...labels } = template.metadata?.labels ?? {}
  return { ...template, metadata: { ...template.metadata, labels } }
}

function withoutCause(template: V1PodTemplateSpec): V1PodTemplateSpec {
  const { [causeName]: cause, ...annotations } = template.metadata?.annotations ?? {}
  if (cause === undefined) return template
  const { annotations: _all, ...metadata } = template.metadata ?? {}
  return { ...template, metadata: Object.keys(annotations).length > 0 ? { ...metadata, annotations } : metadata }
}
