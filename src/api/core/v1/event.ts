import { Event } from '#api/core/v1/kinds.gen.ts'
import type { V1Event } from '#api/core/v1/types.gen.ts'
import { validateEvent, validateEventUpdate } from '#api/events/v1/validate-event.ts'
import { nameColumn } from '#api/meta/columns.ts'
import { ageOf } from '#api/meta/human-duration.ts'
import { nameIsPathSegment } from '#api/meta/names.ts'
import { defineResource } from '#api/resource.ts'

export const eventResource = defineResource(Event, {
  nameRule: nameIsPathSegment,
  finalizers: 'any',
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: true,
  defaultPropagation: 'Unsupported',

  validate: (_event, check, { requestVersion }) => validateEvent(check, requestVersion),
  revalidatesMetadata: false,
  validateUpdate: (_next, prev, check, { requestVersion }) => validateEventUpdate(check, prev, requestVersion),

  columns: [
    {
      name: 'Last Seen',
      type: 'string',
      description: { field: 'Event.lastTimestamp' },
      cell: (event, { nowMs }) => lastSeen(event, nowMs),
    },
    { name: 'Type', type: 'string', description: { field: 'Event.type' }, cell: ({ type }) => type ?? '' },
    { name: 'Reason', type: 'string', description: { field: 'Event.reason' }, cell: ({ reason }) => reason ?? '' },
    {
      name: 'Object',
      type: 'string',
      description: { field: 'Event.involvedObject' },
      cell({ involvedObject }) {
        const kind = (involvedObject?.kind ?? '').toLowerCase()
        return involvedObject?.name ? `${kind}/${involvedObject.name}` : kind
      },
    },
    {
      name: 'Subobject',
      type: 'string',
      priority: 1,
      description: { field: 'ObjectReference.fieldPath' },
      cell: ({ involvedObject }) => involvedObject?.fieldPath ?? '',
    },
    {
      name: 'Source',
      type: 'string',
      priority: 1,
      description: { field: 'Event.source' },
      cell({ source, reportingComponent = '', reportingInstance }) {
        const component = source?.component || reportingComponent
        const host = source?.host || reportingInstance
        return host ? `${component}, ${host}` : component
      },
    },
    { name: 'Message', type: 'string', description: { field: 'Event.message' }, cell: ({ message }) => (message ?? '').trim() },
    {
      name: 'First Seen',
      type: 'string',
      priority: 1,
      description: { field: 'Event.firstTimestamp' },
      cell: (event, { nowMs }) => firstSeen(event, nowMs),
    },
    {
      name: 'Count',
      type: 'string',
      priority: 1,
      description: { field: 'Event.count' },
      cell: ({ count, series }) => (series ? (series.count ?? 0) : count || 1),
    },
    { ...nameColumn, priority: 1 },
  ],
  fieldSelectors: {
    'involvedObject.kind': ({ involvedObject }) => involvedObject?.kind ?? '',
    'involvedObject.namespace': ({ involvedObject }) => involvedObject?.namespace ?? '',
    'involvedObject.name': ({ involvedObject }) => involvedObject?.name ?? '',
    'involvedObject.uid': ({ involvedObject }) => involvedObject?.uid ?? '',
    'involvedObject.apiVersion': ({ involvedObject }) => involvedObject?.apiVersion ?? '',
    'involvedObject.resourceVersion': ({ involvedObject }) => involvedObject?.resourceVersion ?? '',
    'involvedObject.fieldPath': ({ involvedObject }) => involvedObject?.fieldPath ?? '',
    reason: ({ reason }) => reason ?? '',
    reportingComponent: ({ reportingComponent }) => reportingComponent ?? '',
    source: ({ source, reportingComponent }) => source?.component || (reportingComponent ?? ''),
    type: ({ type }) => type ?? '',
  },
})

const firstSeen = ({ firstTimestamp, eventTime }: V1Event, nowMs: number): string => ageOf(firstTimestamp || eventTime, nowMs)

function lastSeen(event: V1Event, nowMs: number): string {
  if (event.series) return ageOf(event.series.lastObservedTime, nowMs)
  return event.lastTimestamp ? ageOf(event.lastTimestamp, nowMs) : firstSeen(event, nowMs)
}
