import { type Chapter, linesOf } from './lines.ts'

export const looking: Chapter = {
  name: 'looking around',
  lines: linesOf(`
    api-versions
    api-versions x
    api-resources
    api-resources --api-group=apps -o wide
    api-resources --api-group=apps -o name
    api-resources --namespaced=false --no-headers
    api-resources --verbs=list,get --categories=all
    api-resources --sort-by=kind
    api-resources --sort-by=foo
    36| api-resources -o foo
    36| api-resources --api-group=apps -o yaml
    version extra
    version -o foo
    cluster-info
    36| auth whoami
    36| auth whoami -o yaml
    auth can-i create pods
    auth can-i create nosuch
    auth can-i get pods/x
    auth can-i get /healthz
    auth can-i get pods --as=nobody
    auth can-i get pods --as=nobody -q
    auth can-i get nodes
    auth can-i foo
    auth can-i foo pods
    auth can-i list deployments.apps --subresource=status
    events
    events --for=pod/x
    events --for=x
    events --types=Warning
    create token nosuch
    create token default --duration=-1s
    create token default --bound-object-kind=Foo
    certificate approve nosuch
    certificate approve
    top pod
    36| config view
    config get-contexts
    config get-contexts nosuch
    config get-contexts -o name
    config current-context
    config get-clusters
    config get-users
    config use-context nosuch
    config delete-context nosuch
    config rename-context nosuch b
    36| config set-context
    36| config view --minify -o json
    36| config view -o jsonpath={.current-context}
    explain deploy
    explain deploy.spec.strategy
    explain deploy.spec.template.spec.containers.resources
    explain cm.data
    explain pods.spec.containers --recursive
    explain pods.nosuch
    explain nosuch
    explain
    explain pods.spec.restartPolicy
    36| explain ingresses.networking.k8s.io.spec
    explain deploy --api-version=apps/v1
    explain deploy --api-version=apps/v9
    36| logs nosuch
    logs
    36| logs deploy/nosuch
    logs -l nosuch=x
    exec nosuch -- ls
    exec nosuch
    exec
    attach nosuch
    attach
    run p1 --image=nginx
    wait pod/p1 --for=condition=Ready --timeout=60s
    logs p1
    36| logs p1 -c nosuch
    logs p1 --tail=-2
    logs pod/p1 --tail=1 --prefix
    logs p1 -p
    36| exec p1 -c nosuch -- ls
    plugin list
    completion
    completion foo
    debug
    auth reconcile
    auth reconcile -f {dir}/cm.yaml
    36| exec p1 -- ls
    cp a b
    cp p1:/x p1:/y
    port-forward p1
    diff
    diff -f {dir}/nosuch.yaml
    edit cm nosuch
    apply view-last-applied pod p1
    kustomize a b
  `),
}
