import { Event as CoreEvent } from '#api/core/v1/event.ts'
import { fromCoreEvent, toCoreEvent } from '#api/events/v1/convert-event.ts'
import type { V1Event } from '#api/events/v1/types.gen.ts'
import { defineResource } from '#api/resource.ts'

/** Shares one place in the store with the events of the core group, whose rules are stricter with what comes this way. */
export const Event = defineResource<V1Event>({
  group: 'events.k8s.io',
  version: 'v1',
  kind: 'Event',
  plural: 'events',
  shortNames: ['ev'],
  scope: 'Namespaced',
  schema: 'io.k8s.api.events.v1.Event',
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: true,
  defaultPropagation: 'Unsupported',
  storedAs: { definition: CoreEvent, toStored: toCoreEvent, fromStored: fromCoreEvent },

  fieldSelectors: {
    'regarding.kind': ({ regarding }) => regarding?.kind ?? '',
    'regarding.namespace': ({ regarding }) => regarding?.namespace ?? '',
    'regarding.name': ({ regarding }) => regarding?.name ?? '',
    'regarding.uid': ({ regarding }) => regarding?.uid ?? '',
    'regarding.apiVersion': ({ regarding }) => regarding?.apiVersion ?? '',
    'regarding.resourceVersion': ({ regarding }) => regarding?.resourceVersion ?? '',
    'regarding.fieldPath': ({ regarding }) => regarding?.fieldPath ?? '',
    reason: ({ reason }) => reason ?? '',
    reportingController: ({ reportingController }) => reportingController ?? '',
    type: ({ type }) => type ?? '',
  },
})
