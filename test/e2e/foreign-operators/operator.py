"""An operator as people write them with the official Python client: a Greeting gets a config map, a status and a farewell."""
from kubernetes import client, config, watch
from kubernetes.client.rest import ApiException

GROUP, VERSION, PLURAL = "python.example.com", "v1", "greetings"
FINALIZER = "python.example.com/farewell"

config.load_kube_config()
definitions, core, objects = client.ApiextensionsV1Api(), client.CoreV1Api(), client.CustomObjectsApi()

schema = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
        "status": {"type": "object", "properties": {"phase": {"type": "string"}, "greeted": {"type": "string"}}},
    },
}
definition = client.V1CustomResourceDefinition(
    api_version="apiextensions.k8s.io/v1",
    kind="CustomResourceDefinition",
    metadata=client.V1ObjectMeta(name=f"{PLURAL}.{GROUP}"),
    spec=client.V1CustomResourceDefinitionSpec(
        group=GROUP,
        scope="Namespaced",
        names=client.V1CustomResourceDefinitionNames(kind="Greeting", plural=PLURAL, singular="greeting"),
        versions=[
            client.V1CustomResourceDefinitionVersion(
                name=VERSION,
                served=True,
                storage=True,
                schema=client.V1CustomResourceValidation(open_apiv3_schema=schema),
                subresources=client.V1CustomResourceSubresources(status={}),
            )
        ],
    ),
)
definitions.create_custom_resource_definition(definition)
for event in watch.Watch().stream(
    definitions.list_custom_resource_definition, field_selector=f"metadata.name={PLURAL}.{GROUP}"
):
    conditions = event["object"].status.conditions or []
    if any(each.type == "Established" and each.status == "True" for each in conditions):
        break
print("ready", flush=True)


def config_map(name, owner, data):
    references = None
    if owner is not None:
        references = [
            client.V1OwnerReference(
                api_version=f"{GROUP}/{VERSION}",
                kind="Greeting",
                name=owner["metadata"]["name"],
                uid=owner["metadata"]["uid"],
                controller=True,
            )
        ]
    body = client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, owner_references=references), data=data)
    try:
        core.create_namespaced_config_map("default", body)
    except ApiException as error:
        if error.status != 409:
            raise
        core.patch_namespaced_config_map(name, "default", {"data": data})


def reconcile(greeting):
    meta, name = greeting["metadata"], greeting["metadata"]["name"]
    finalizers = meta.get("finalizers", [])
    if "deletionTimestamp" in meta:
        if FINALIZER in finalizers:
            config_map(f"{name}-farewell", None, {"text": "Goodbye, " + greeting["spec"]["name"]})
            rest = [each for each in finalizers if each != FINALIZER]
            objects.patch_namespaced_custom_object(
                GROUP, VERSION, "default", PLURAL, name, {"metadata": {"finalizers": rest}}
            )
        return
    if FINALIZER not in finalizers:
        greeting = objects.patch_namespaced_custom_object(
            GROUP, VERSION, "default", PLURAL, name, {"metadata": {"finalizers": finalizers + [FINALIZER]}}
        )
    greeted = greeting["spec"]["name"]
    if greeting.get("status", {}).get("greeted") == greeted:
        return
    config_map(name, greeting, {"text": "Hello, " + greeted})
    greeting["status"] = {"phase": "Greeted", "greeted": greeted}
    objects.replace_namespaced_custom_object_status(GROUP, VERSION, "default", PLURAL, name, greeting)


while True:
    stream = watch.Watch().stream(objects.list_namespaced_custom_object, GROUP, VERSION, "default", PLURAL)
    for event in stream:
        if event["type"] in ("ADDED", "MODIFIED"):
            try:
                reconcile(event["object"])
            except ApiException as error:
                # Somebody else was faster: the next event has what they wrote.
                if error.status not in (404, 409):
                    raise
