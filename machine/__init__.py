"""The machine file: schema, units and positions of errors, turned into a mechanism, motors and sensors."""
