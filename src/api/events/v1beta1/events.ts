import { eventResource as coreEvent } from '#api/core/v1/event.ts'
import type { V1Event as V1CoreEvent } from '#api/core/v1/types.gen.ts'
import { fromCoreEvent, toCoreEvent } from '#api/events/v1/convert-event.ts'
import { eventSelectors } from '#api/events/v1/event.ts'
import type { V1Event } from '#api/events/v1/types.gen.ts'
import { legacyVersion } from '#api/meta/legacy-version.ts'
import type { ResourceDefinition } from '#api/resource.ts'

/** As v1, but for the rules: those came with v1. */
const eventResource = legacyVersion<V1Event, V1CoreEvent>(coreEvent, {
  group: 'events.k8s.io',
  version: 'v1beta1',
  schema: 'io.k8s.api.events.v1beta1.Event',
  deprecated: { deprecatedIn: '1.22', removedIn: '1.25', replacement: 'events.k8s.io/v1 Event' },
  fieldSelectors: eventSelectors,
  toStored: toCoreEvent,
  fromStored: fromCoreEvent,
})

export const eventsV1beta1: readonly ResourceDefinition[] = [eventResource]
