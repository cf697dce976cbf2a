/** Short texts that differ where what they stand for does. */
import { hash } from 'node:crypto'
import type { Steps } from '#base/steps.ts'
import type { Source } from '#ingress/controller/source.ts'
import { type Route, type Site, siteKey } from '#ingress/routing/route.ts'

const ofRoutes = new WeakMap<Route, string>()

const digestOf = (text: string): string => hash('sha256', text, 'base64')

export const fingerprintOf = (value: unknown): string => digestOf(JSON.stringify(value))

function fingerprintOfRoute(route: Route): string {
  const known = ofRoutes.get(route)
  if (known !== undefined) return known
  const made = fingerprintOf(route)
  ofRoutes.set(route, made)
  return made
}

/** One route may be at a thousand sites: what it says is looked at once. */
export function* fingerprintOfSite(site: Site): Steps<string> {
  let text = siteKey(site)
  for (const route of site.routes) {
    text += `\n${fingerprintOfRoute(route)}`
    yield
  }
  return digestOf(text)
}

export function* fingerprintOfSource({ sites, backends, certificates }: Source): Steps<string> {
  const parts: string[] = []
  for (const site of sites) parts.push(yield* fingerprintOfSite(site))
  for (const each of [...backends, ...certificates]) {
    parts.push(JSON.stringify(each))
    yield
  }
  return digestOf(parts.join('\n'))
}
