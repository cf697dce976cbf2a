/** What the docs point at is there. */
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'

const repository = join(import.meta.dirname, '..')
const pages = globSync(['*.md', 'docs/**/*.md', 'facts/*.md', 'src/**/*.md', 'test/**/*.md', '.github/**/*.md'], { cwd: repository })

test('links between pages, and paths from the root of the repository, lead somewhere', () => {
  const missing = pages.flatMap((page) => {
    const text = readFileSync(join(repository, page), 'utf8')
    const links = [...text.matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)].map(([, link = '']) => join(dirname(page), link))
    const paths = [...text.matchAll(/`((?:src|test|scripts|docs|facts|bench|bin)\/[\w./-]+)`/g)].map(([, path = '']) => path)
    return [...links, ...paths].filter((path) => !existsSync(join(repository, path))).map((path) => `${page}: ${path}`)
  })
  assert.deepEqual(missing, [])
})

test('no page names a folder beside the repository', () => {
  const outside = pages.filter((page) => /(?:^|[\s(`])(?:\.\.\/)+shared\b|\/work\//m.test(readFileSync(join(repository, page), 'utf8')))
  assert.deepEqual(outside, [])
})
