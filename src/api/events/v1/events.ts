import { eventResource } from '#api/events/v1/event.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const eventsV1: readonly ResourceDefinition[] = [eventResource]
